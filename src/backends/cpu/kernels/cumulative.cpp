// Running sums along an axis: element by element where it is contiguous, else whole rows at a time.
#include "ops/op/cumulative.h"

#include <algorithm>
#include <limits>
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
constexpr int64_t kFew = 8;               // columns, whose sums stay in registers
constexpr int64_t kHalfBlock = 1024;      // columns of halves, whose sums stay in the first cache

// Floating types are summed in double; integers wrap in 64 bits, then saturate.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

template <typename A>
A plus(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename T, typename A>
T stored(A sum) {
  if constexpr (std::is_integral_v<A> && sizeof(T) < sizeof(A)) {
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(std::clamp<A>(sum, Limits::min(), Limits::max()));
  } else {
    return static_cast<T>(sum);
  }
}

template <typename T>
void scanLine(const T* x, T* y, int64_t count, int64_t step, bool exclusive, SumOf<T>& sum) {
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<SumOf<T>>(x[i * step]);
    const auto before = sum;
    sum = plus(sum, value);
    y[i * step] = stored<T>(exclusive ? before : sum);
  }
}

// Rows of so few columns that all sums stay in registers.
template <typename T, size_t kColumns>
void scanColumns(const T* x, T* y, int64_t rows, int64_t step, bool exclusive) {
  SumOf<T> sums[kColumns] = {};
  for (int64_t r = 0; r < rows; ++r, x += step, y += step) {
    for (size_t k = 0; k < kColumns; ++k) {
      const auto before = sums[k];
      sums[k] = plus(sums[k], static_cast<SumOf<T>>(x[k]));
      y[k] = stored<T>(exclusive ? before : sums[k]);
    }
  }
}
// Whether there are few columns.
template <typename T>
bool scanFew(const T* x, T* y, int64_t rows, int64_t width, int64_t step, bool exclusive) {
  switch (width) {
    case 2: return scanColumns<T, 2>(x, y, rows, step, exclusive), true;
    case 3: return scanColumns<T, 3>(x, y, rows, step, exclusive), true;
    case 4: return scanColumns<T, 4>(x, y, rows, step, exclusive), true;
    case 5: return scanColumns<T, 5>(x, y, rows, step, exclusive), true;
    case 6: return scanColumns<T, 6>(x, y, rows, step, exclusive), true;
    case 7: return scanColumns<T, 7>(x, y, rows, step, exclusive), true;
    case 8: return scanColumns<T, 8>(x, y, rows, step, exclusive), true;
    default: return false;
  }
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
  bool isHalf() const { return type_ == DataType::kF16 || type_ == DataType::kBF16; }

  template <typename T>
  void scan(const runtime::LaunchArguments& arguments) const {
    const auto* const x = static_cast<const T*>(arguments.inputs[0]);
    auto* const y = static_cast<T*>(arguments.outputs[0]);
    // Long pieces of rows, but some for every thread, and none much shorter; a column's sums are the same in any.
    constexpr int64_t kJobs = 16;
    constexpr int64_t kLine = 64;
    const int64_t fair = platform::teamSize() == 1 ? kBlock : outer_ * inner_ / kJobs;
    const int64_t most = std::clamp<int64_t>(fair, kLine, kBlock);
    const int64_t even = inner_ / ((inner_ + most - 1) / most);
    const int64_t block = std::min((even + kLine - 1) / kLine * kLine, kBlock);
    const int64_t blocks = (inner_ + block - 1) / block;
    const int64_t first = op_.reverse ? (extent_ - 1) * inner_ : 0;
    const int64_t step = op_.reverse ? -inner_ : inner_;
    runJobs(outer_ * blocks, outer_ * extent_ * inner_ * 4, [&](int64_t job) {
      const int64_t column = job % blocks * block;
      const int64_t at = job / blocks * extent_ * inner_ + first + column;
      const int64_t width = std::min(block, inner_ - column);
      if (width == 1) {
        SumOf<T> sum{};
        const int64_t low = job / blocks * extent_;  // where inner_ is 1
        if (lineSums_ != nullptr &&
            lineSums_(x + low, y + low, static_cast<size_t>(extent_), {op_.reverse, op_.exclusive}, &sum))
          return;
        sum = {};
        return scanLine(x + at, y + at, extent_, step, op_.exclusive, sum);
      }
      if (inner_ <= kFew && scanFew(x + at, y + at, extent_, width, step, op_.exclusive)) return;
      scanFunctions(type_).sums(x + at, y + at, static_cast<size_t>(extent_), static_cast<size_t>(width), step,
                                op_.exclusive);
    });
  }

  // In f32, some elements or rows at a time.
  void scanHalves(const runtime::LaunchArguments& arguments) const {
    const auto* const x = static_cast<const uint16_t*>(arguments.inputs[0]);
    auto* const y = static_cast<uint16_t*>(arguments.outputs[0]);
    const auto widen = castFunction(type_, DataType::kF32);
    const auto narrow = castFunction(DataType::kF32, type_);
    const int64_t blocks = (inner_ + kHalfBlock - 1) / kHalfBlock;
    runJobs(outer_ * blocks, outer_ * extent_ * inner_ * 4, [&](int64_t job) {
      const int64_t column = job % blocks * kHalfBlock;
      const int64_t at = job / blocks * extent_ * inner_ + column;
      if (inner_ == 1) return halfLine(x + at, y + at, widen, narrow);
      halfColumns(x + at, y + at, std::min(kHalfBlock, inner_ - column), widen, narrow);
    });
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
