// Running sums along an axis: element by element where it is contiguous, else whole rows at a time.
#include "ops/op/cumulative.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/line_scan_simd.h"
#include "backends/cpu/kernels/simd/scan_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/error.h"
#include "core/platform/threads.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBlock = kScanColumns;  // columns, or elements of a line
constexpr int64_t kFew = 8;               // columns, whose sums stay in registers; elements of short lines
constexpr int64_t kNarrow = 128;          // columns, whose sums stay in vectors
constexpr int64_t kFlatBlock = 65536;     // columns of few rows, which are read fastest in their order
constexpr int64_t kHalfBlock = 1024;      // columns of halves, whose sums stay in the first cache

// Floating types are summed in double; integers wrap in their type.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <typename A>
A plus(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename T>
void scanLine(const T* x, T* y, int64_t count, int64_t step, bool exclusive, SumOf<T>& sum) {
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<SumOf<T>>(x[i * step]);
    const auto before = sum;
    sum = plus(sum, value);
    y[i * step] = static_cast<T>(exclusive ? before : sum);
  }
}

// Floats of few rows are summed in f32: that many roundings are within those of the blocks that longer sums are made
// of.
template <typename T>
using ShortSumOf = std::conditional_t<std::is_same_v<T, float>, float, SumOf<T>>;

// Rows of so few columns that all sums stay in registers; they go on from `carried`, which holds them afterwards.
template <typename T, size_t kColumns>
void scanColumns(const T* x, T* y, int64_t rows, int64_t step, bool exclusive, SumOf<T>* carried) {
  SumOf<T> sums[kColumns];
  std::copy_n(carried, kColumns, sums);
  for (int64_t r = 0; r < rows; ++r, x += step, y += step) {
    for (size_t k = 0; k < kColumns; ++k) {
      const auto before = sums[k];
      sums[k] = plus(sums[k], static_cast<SumOf<T>>(x[k]));
      y[k] = static_cast<T>(exclusive ? before : sums[k]);
    }
  }
  std::copy_n(sums, kColumns, carried);
}

// Lines of so few elements that a call for each would cost more than they do.
template <typename T, size_t kExtent, bool kExclusive>
void scanShort(const T* x, T* y, int64_t lines, bool isReverse) {
  using Sum = ShortSumOf<T>;
  const auto one = [&](auto place) {
    for (int64_t line = 0; line < lines; ++line, x += kExtent, y += kExtent) {
      Sum sum{};
      for (size_t k = 0; k < kExtent; ++k) {
        const auto before = sum;
        sum = plus(sum, static_cast<Sum>(x[place(k)]));
        y[place(k)] = static_cast<T>(kExclusive ? before : sum);
      }
    }
  };
  if (isReverse) return one([](size_t k) { return kExtent - 1 - k; });
  one([](size_t k) { return k; });
}

// Calls body with the constant `count`, from 2 to kFew; false where it is another.
template <int64_t kCount = kFew, typename Body>
bool withConstant(int64_t count, Body&& body) {
  if constexpr (kCount > 1) {
    if (count != kCount) return withConstant<kCount - 1>(count, body);
    body(std::integral_constant<size_t, kCount>());
    return true;
  }
  return false;
}

class CumulativeInstance final : public runtime::KernelInstance {
 public:
  explicit CumulativeInstance(const ops::Cumulative& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const int axis = static_cast<int>(op_.axis < 0 ? op_.axis + x.dims.rank : op_.axis);
    outer_ = x.dims.count(0, axis);
    extent_ = x.dims[axis];
    inner_ = x.dims.count(axis + 1, x.dims.rank);
    type_ = x.dtype;
    lineSums_ = inner_ == 1 ? lineSumsFunction(isHalf() ? DataType::kF32 : type_) : nullptr;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outer_ * extent_ * inner_ == 0) return;
    if (extent_ == 1) return single(arguments);
    switch (type_) {
      case DataType::kF32: return scan<float>(arguments);
      case DataType::kI64: return scan<int64_t>(arguments);
      case DataType::kI32: return scan<int32_t>(arguments);
      case DataType::kI8: return scan<int8_t>(arguments);
      case DataType::kU8: return scan<uint8_t>(arguments);
      case DataType::kF16:
      case DataType::kBF16: return scanHalves(arguments);
      default: throw Unsupported("cpu.cumulative: values of {} are not supported", name(type_));
    }
  }

 private:
  // Lines of one element: sums are what is there, or nothing.
  void single(const runtime::LaunchArguments& arguments) const {
    constexpr int64_t kPiece = 1 << 16;  // bytes
    const int64_t all = outer_ * inner_ * (bits(type_) / 8);
    const auto* const x = static_cast<const char*>(arguments.inputs[0]);
    auto* const y = static_cast<char*>(arguments.outputs[0]);
    runJobs((all + kPiece - 1) / kPiece, all, [&](int64_t job) {
      const int64_t first = job * kPiece;
      const auto bytes = static_cast<size_t>(std::min(kPiece, all - first));
      if (op_.exclusive) {
        std::memset(y + first, 0, bytes);
      } else {
        std::memcpy(y + first, x + first, bytes);
      }
    });
  }

  bool isHalf() const { return type_ == DataType::kF16 || type_ == DataType::kBF16; }

  template <typename T>
  void scan(const runtime::LaunchArguments& arguments) const {
    const auto* const x = static_cast<const T*>(arguments.inputs[0]);
    auto* const y = static_cast<T*>(arguments.outputs[0]);
    // Long pieces of rows, but some for every thread, and none much shorter; a column's sums are the same in any.
    constexpr int64_t kJobs = 16;
    constexpr int64_t kLine = 64;
    const bool isFlat = std::is_same_v<T, float> && extent_ <= static_cast<int64_t>(kScanRows);
    const int64_t largest = isFlat ? kFlatBlock : kBlock;
    const int64_t fair = platform::teamSize() == 1 ? largest : outer_ * inner_ / kJobs;
    const int64_t most = std::clamp<int64_t>(fair, kLine, largest);
    const int64_t even = inner_ / ((inner_ + most - 1) / most);
    const int64_t block = std::min((even + kLine - 1) / kLine * kLine, largest);
    const int64_t blocks = (inner_ + block - 1) / block;
    const int64_t first = op_.reverse ? (extent_ - 1) * inner_ : 0;
    const int64_t step = op_.reverse ? -inner_ : inner_;
    if (inner_ == 1 && scanShortLines(x, y)) return;
    runJobs(outer_ * blocks, outer_ * extent_ * inner_ * 4, [&](int64_t job) {
      const int64_t column = job % blocks * block;
      const int64_t at = job / blocks * extent_ * inner_ + first + column;
      const int64_t width = std::min(block, inner_ - column);
      if (inner_ == 1) {  // not the last column of a block: which one that is depends on the team
        SumOf<T> sum{};
        const int64_t low = job / blocks * extent_;
        if (lineSums_ == nullptr) return scanLine(x + at, y + at, extent_, step, op_.exclusive, sum);
        return lineSums_(x + low, y + low, static_cast<size_t>(extent_), {op_.reverse, op_.exclusive}, &sum);
      }
      if (inner_ <= kFew && withConstant(width, [&](auto columns) {
            SumOf<T> sums[columns] = {};
            scanColumns<T, columns>(x + at, y + at, extent_, step, op_.exclusive, sums);
          }))
        return;
      scanFunctions(type_).sums(x + at, y + at, static_cast<size_t>(extent_), static_cast<size_t>(width), step,
                                {op_.exclusive, inner_ <= kNarrow});
    });
  }

  template <typename T>
  bool scanShortLines(const T* x, T* y) const {
    constexpr int64_t kLines = 512;  // of a job
    return withConstant(extent_, [&](auto extent) {
      runJobs((outer_ + kLines - 1) / kLines, outer_ * extent_ * 4, [&](int64_t job) {
        const int64_t at = job * kLines * extent_;
        const int64_t lines = std::min(kLines, outer_ - job * kLines);
        if (op_.exclusive) return scanShort<T, extent, true>(x + at, y + at, lines, op_.reverse);
        scanShort<T, extent, false>(x + at, y + at, lines, op_.reverse);
      });
    });
  }

  // In f32, some elements or rows at a time.
  void scanHalves(const runtime::LaunchArguments& arguments) const {
    const auto* const x = static_cast<const uint16_t*>(arguments.inputs[0]);
    auto* const y = static_cast<uint16_t*>(arguments.outputs[0]);
    const auto widen = castFunction(type_, DataType::kF32);
    const auto narrow = castFunction(DataType::kF32, type_);
    const int64_t slice = extent_ * inner_;
    if (slice <= kBlock) {
      const int64_t slices = kBlock / slice;  // of a job
      return runJobs((outer_ + slices - 1) / slices, outer_ * slice * 4, [&](int64_t job) {
        const int64_t first = job * slices;
        halfSlices(x + first * slice, y + first * slice, std::min(slices, outer_ - first), widen, narrow);
      });
    }
    const int64_t blocks = (inner_ + kHalfBlock - 1) / kHalfBlock;
    runJobs(outer_ * blocks, outer_ * slice * 4, [&](int64_t job) {
      const int64_t column = job % blocks * kHalfBlock;
      const int64_t at = job / blocks * extent_ * inner_ + column;
      if (inner_ == 1) return halfLine(x + at, y + at, widen, narrow);
      if (inner_ <= kFew) return halfFewColumns(x + at, y + at, widen, narrow);
      halfColumns(x + at, y + at, std::min(kHalfBlock, inner_ - column), widen, narrow);
    });
  }

  // Slices along the axis that fit into one block.
  void halfSlices(const uint16_t* x, uint16_t* y, int64_t slices, VectorFunction widen, VectorFunction narrow) const {
    const int64_t slice = extent_ * inner_;
    const auto count = static_cast<size_t>(slices * slice);
    float values[kBlock];
    float sums[kBlock];
    widen(x, nullptr, nullptr, values, count);
    const bool isShort = inner_ == 1 && withConstant(extent_, [&](auto extent) {
                           if (op_.exclusive) return scanShort<float, extent, true>(values, sums, slices, op_.reverse);
                           scanShort<float, extent, false>(values, sums, slices, op_.reverse);
                         });
    for (int64_t i = 0; !isShort && i < slices; ++i) floatSlice(values + i * slice, sums + i * slice);
    narrow(sums, nullptr, nullptr, y, count);
  }
  void floatSlice(const float* x, float* y) const {
    if (inner_ == 1) {
      double sum = 0;
      lineSums_(x, y, static_cast<size_t>(extent_), {op_.reverse, op_.exclusive}, &sum);
      return;
    }
    double carried[kFew] = {};
    if (floatColumns(x, y, extent_, carried)) return;
    const int64_t first = op_.reverse ? (extent_ - 1) * inner_ : 0;
    const int64_t step = op_.reverse ? -inner_ : inner_;
    scanFunctions(DataType::kF32)
        .sums(x + first, y + first, static_cast<size_t>(extent_), static_cast<size_t>(inner_), step,
              {op_.exclusive, inner_ <= kNarrow});
  }

  void halfLine(const uint16_t* x, uint16_t* y, VectorFunction widen, VectorFunction narrow) const {
    double sum = 0;
    for (int64_t first = 0; first < extent_; first += kBlock) {
      const int64_t count = std::min(kBlock, extent_ - first);
      const int64_t at = op_.reverse ? extent_ - first - count : first;
      const auto size = static_cast<size_t>(count);
      float values[kBlock];
      float sums[kBlock];
      widen(x + at, nullptr, nullptr, values, size);
      lineSums_(values, sums, size, {op_.reverse, op_.exclusive}, &sum);
      narrow(sums, nullptr, nullptr, y + at, size);
    }
  }

  // Rows of a few columns, whose sums go on from `carried`; false where there are more.
  bool floatColumns(const float* x, float* y, int64_t rows, double* carried) const {
    const int64_t first = op_.reverse ? (rows - 1) * inner_ : 0;
    const int64_t step = op_.reverse ? -inner_ : inner_;
    return withConstant(inner_, [&](auto columns) {
      scanColumns<float, columns>(x + first, y + first, rows, step, op_.exclusive, carried);
    });
  }

  // Many rows of a few columns at a time.
  void halfFewColumns(const uint16_t* x, uint16_t* y, VectorFunction widen, VectorFunction narrow) const {
    const int64_t most = kBlock / inner_;
    double carried[kFew] = {};
    for (int64_t first = 0; first < extent_; first += most) {
      const int64_t rows = std::min(most, extent_ - first);
      const int64_t at = (op_.reverse ? extent_ - first - rows : first) * inner_;
      const auto size = static_cast<size_t>(rows * inner_);
      float values[kBlock];
      float sums[kBlock];
      widen(x + at, nullptr, nullptr, values, size);
      floatColumns(values, sums, rows, carried);
      narrow(sums, nullptr, nullptr, y + at, size);
    }
  }

  void halfColumns(const uint16_t* x, uint16_t* y, int64_t count, VectorFunction widen, VectorFunction narrow) const {
    const int64_t step = op_.reverse ? -inner_ : inner_;
    const auto addRow = scanFunctions(DataType::kF32).addRow;
    const auto size = static_cast<size_t>(count);
    x += op_.reverse ? (extent_ - 1) * inner_ : 0;
    y += op_.reverse ? (extent_ - 1) * inner_ : 0;
    float values[kHalfBlock];
    float lost[kHalfBlock] = {};
    float sums[2][kHalfBlock] = {};
    for (int64_t r = 0; r < extent_; ++r, x += step, y += step) {
      const float* const before = sums[r % 2];
      float* const sum = sums[(r + 1) % 2];
      widen(x, nullptr, nullptr, values, size);
      addRow(values, before, sum, lost, size);
      narrow(op_.exclusive ? before : sum, nullptr, nullptr, y, size);
    }
  }

  ops::Cumulative op_;
  DataType type_ = DataType::kF32;
  int64_t outer_ = 0, extent_ = 0, inner_ = 0;
  LineSumsFunction lineSums_ = nullptr;
};

}  // namespace

KernelRow kernelRow_cumulative() { return {"cumulative", 1, &loadSimple<ops::Cumulative, CumulativeInstance>}; }

}  // namespace tenon::backends::cpu
