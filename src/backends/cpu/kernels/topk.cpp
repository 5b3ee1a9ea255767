// The k best elements of each line, with their indices. Elements become whole numbers in the order of the operator, so
// that comparisons are those of integers; for one of contiguous lines, lines are walked side by side.
#include "ops/op/topk.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/topk_keys.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/reduce_simd.h"
#include "backends/cpu/kernels/simd/scan_simd.h"
#include "backends/cpu/kernels/simd/topk_simd.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

class TopKInstance final : public runtime::KernelInstance {
 public:
  explicit TopKInstance(const ops::TopK& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const int axis = static_cast<int>(op_.axis < 0 ? op_.axis + x.dims.rank : op_.axis);
    outer_ = x.dims.count(0, axis);
    extent_ = x.dims[axis];
    inner_ = x.dims.count(axis + 1, x.dims.rank);
    k_ = shapes.outputs[0].dims[axis];
    type_ = x.dtype;
    computedIn_ = type_ == DataType::kF16 || type_ == DataType::kBF16 ? DataType::kF32
                  : type_ == DataType::kBool                          ? DataType::kU8
                                                                      : type_;
    bytes_ = bits(type_) / 8;
    scan_ = scanFunctions(computedIn_);
    checkUser(k_ >= 0 && k_ <= extent_, "topk: k = {} exceeds axis {} of extent {}", k_, axis, extent_);
    checkUser(op_.indexType == DataType::kI64 || extent_ <= std::numeric_limits<int32_t>::max(),
              "topk: axis {} has {} elements, which indices of i32 do not reach", axis, extent_);
    if (computedIn_ != DataType::kI64 && extent_ > std::numeric_limits<uint32_t>::max())
      throw Unsupported("cpu.topk: a line of {} elements", extent_);
    // Keys, the line in the type that it is computed in, and some lines themselves where they are not contiguous.
    jobs_ = std::clamp<int64_t>(outer_ * inner_, 1, kMostJobs);
    together_ = inner_ == 1 || extent_ > kLongLine ? 1 : std::min(kTogether, inner_);
    const int64_t elementBytes = static_cast<int64_t>(sizeof(WideKey) + sizeof(int64_t)) + together_ * bytes_;
    lineBytes_ = (extent_ * elementBytes + 63) / 64 * 64;
    transpose_ = transposeFunctions(static_cast<size_t>(bytes_)).transpose;
    isHalf_ = type_ != computedIn_ && computedIn_ == DataType::kF32;
    areShort_ = k_ == 1 && inner_ == 1 && extent_ <= kShortLine && (computedIn_ == type_ || isHalf_);
    if (isHalf_ && areShort_) transpose_ = transposeFunctions(sizeof(float)).transpose;
    byColumns_ =
        k_ == 1 && inner_ > 1 && (computedIn_ == type_ || isHalf_) && extent_ <= std::numeric_limits<int32_t>::max();
    topsAreShort_ = inner_ == 1 && extent_ <= kShortLine;
    topColumns_ = k_ > 1 && k_ <= static_cast<int64_t>(kMostTop) && (topsAreShort_ || inner_ >= kFewColumns) &&
                          extent_ <= std::numeric_limits<int32_t>::max()
                      ? topColumnsFunction(computedIn_)
                      : nullptr;
    if (topColumns_ != nullptr && topsAreShort_)
      transpose_ = transposeFunctions(static_cast<size_t>(bits(computedIn_) / 8)).transpose;
    constexpr int64_t kManyKeys = 256, kShare = 16;  // from which on, and of how many of all, sorting all is quicker
    sortsAll_ = extent_ >= kManyKeys && k_ * kShare >= extent_ && extent_ <= std::numeric_limits<uint32_t>::max();
    isRanked_ = computedIn_ != DataType::kI64 && extent_ <= static_cast<int64_t>(kMostRanked) && k_ * 4 > extent_;
    if (topColumns_ != nullptr && topsAreShort_) return 0;
    if (topColumns_ != nullptr || byColumns_) return isHalf_ ? static_cast<size_t>(x.dims.count()) * sizeof(float) : 0;
    return static_cast<size_t>(lineBytes_ * jobs_);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const int64_t lines = outer_ * inner_;
    if (lines == 0 || k_ == 0) return;
    if (areShort_) return bestOfShort(arguments);
    if (byColumns_) return bestOfColumns(arguments);
    if (topColumns_ != nullptr) return topsAreShort_ ? topOfShort(arguments) : topOfColumns(arguments);
    runJobs(jobs_, lines * extent_ * 16, [&](int64_t job) {
      auto* const scratch = static_cast<char*>(arguments.workspace) + job * lineBytes_;
      const int64_t end = lines * (job + 1) / jobs_;
      for (int64_t line = lines * job / jobs_; line < end;) {
        const int64_t count = std::min({together_, end - line, inner_ - line % inner_});
        some(arguments, line, count, scratch);
        line += count;
      }
    });
  }

 private:
  static constexpr int64_t kMostJobs = 32;   // each has memory of its own
  static constexpr int64_t kFewColumns = 4;  // which do not fill vectors
  static constexpr int64_t kTogether = 16;   // lines side by side that are made contiguous
  static constexpr int64_t kLongLine = 4096;
  static constexpr int64_t kShortLine = 32;

  // Lines that lie behind each other and are so short that some of them are turned to lie side by side.
  void bestOfShort(const runtime::LaunchArguments& arguments) const {
    constexpr int64_t kLines = 128;
    const auto* const in = static_cast<const char*>(arguments.inputs[0]);
    runJobs((outer_ + kLines - 1) / kLines, outer_ * extent_ * 8, [&](int64_t job) {
      const int64_t first = job * kLines;
      const auto count = static_cast<size_t>(std::min(kLines, outer_ - first));
      const auto extent = static_cast<size_t>(extent_);
      alignas(64) int64_t turned[kLines * kShortLine];
      alignas(64) float wide[kLines * kShortLine];
      int64_t indices[kLines];
      const char* const from = in + first * extent_ * bytes_;
      if (isHalf_) castFunction(type_, computedIn_)(from, nullptr, nullptr, wide, count * extent);
      transpose_(isHalf_ ? static_cast<const void*>(wide) : from, extent, turned, count, count, extent);
      scan_.best(turned, extent, count, count, op_.largest, indices);
      storeFirst(from, {extent_, 1}, indices, static_cast<int64_t>(count), arguments, first);
    });
  }

  // The elements as they are compared: halves as f32 in the workspace.
  const char* widened(const runtime::LaunchArguments& arguments) const {
    const auto* const in = static_cast<const char*>(arguments.inputs[0]);
    if (!isHalf_) return in;
    auto* const wide = static_cast<char*>(arguments.workspace);
    const auto widen = castFunction(type_, DataType::kF32);
    const int64_t line = extent_ * inner_;
    runJobs(outer_, outer_ * line, [&](int64_t i) {
      widen(in + i * line * bytes_, nullptr, nullptr, wide + i * line * static_cast<int64_t>(sizeof(float)),
            static_cast<size_t>(line));
    });
    return wide;
  }

  // Lines side by side, of which each has one best element.
  void bestOfColumns(const runtime::LaunchArguments& arguments) const {
    constexpr auto kColumns = static_cast<int64_t>(kScanColumns);
    const int64_t blocks = (inner_ + kColumns - 1) / kColumns;
    const auto* const in = static_cast<const char*>(arguments.inputs[0]);
    const char* const compared = widened(arguments);
    const int64_t comparedBytes = isHalf_ ? static_cast<int64_t>(sizeof(float)) : bytes_;
    runJobs(outer_ * blocks, outer_ * inner_ * extent_ * 4, [&](int64_t job) {
      const int64_t column = job % blocks * kColumns;
      const int64_t count = std::min(kColumns, inner_ - column);
      const int64_t first = job / blocks * extent_ * inner_ + column;
      const char* const from = in + first * bytes_;
      const int64_t to = job / blocks * inner_ + column;
      int64_t indices[kScanColumns];
      scan_.best(compared + first * comparedBytes, static_cast<size_t>(extent_), static_cast<size_t>(count),
                 static_cast<size_t>(inner_), op_.largest, indices);
      storeFirst(from, {1, inner_}, indices, count, arguments, to);
    });
  }

  // Lines side by side, of which each has a few best elements.
  void topOfColumns(const runtime::LaunchArguments& arguments) const {
    constexpr auto kColumns = static_cast<int64_t>(kTopColumns);
    const int64_t blocks = (inner_ + kColumns - 1) / kColumns;
    const auto* const in = static_cast<const char*>(arguments.inputs[0]);
    const char* const compared = widened(arguments);
    const int64_t comparedBytes = bits(computedIn_) / 8;
    runJobs(outer_ * blocks, outer_ * inner_ * extent_ * 16, [&](int64_t job) {
      const int64_t column = job % blocks * kColumns;
      const int64_t count = std::min(kColumns, inner_ - column);
      const int64_t first = job / blocks * extent_ * inner_ + column;
      int32_t rows[kMostTop * kTopColumns];
      topColumns_(compared + first * comparedBytes, static_cast<size_t>(inner_), static_cast<size_t>(extent_),
                  static_cast<size_t>(count), static_cast<size_t>(k_), op_.largest, rows);
      storeTop(in + first * bytes_, {1, inner_}, rows, count, arguments, job / blocks * k_ * inner_ + column,
               {1, inner_});
    });
  }

  // The same of lines that lie behind each other and are so short that some of them are turned to lie side by side.
  void topOfShort(const runtime::LaunchArguments& arguments) const {
    constexpr auto kColumns = static_cast<int64_t>(kTopColumns);
    constexpr int64_t kLines = 8 * kColumns;  // of a job
    const auto* const in = static_cast<const char*>(arguments.inputs[0]);
    const auto extent = static_cast<size_t>(extent_);
    runJobs((outer_ + kLines - 1) / kLines, outer_ * extent_ * 16, [&](int64_t job) {
      alignas(64) int32_t turned[kColumns * kShortLine];
      alignas(64) float wide[kColumns * kShortLine];
      int32_t rows[kMostTop * kTopColumns];
      for (int64_t first = job * kLines; first < std::min(outer_, (job + 1) * kLines); first += kColumns) {
        const int64_t count = std::min(kColumns, outer_ - first);
        const auto width = static_cast<size_t>(count);
        const char* const from = in + first * extent_ * bytes_;
        if (isHalf_) castFunction(type_, computedIn_)(from, nullptr, nullptr, wide, width * extent);
        transpose_(isHalf_ ? static_cast<const void*>(wide) : from, extent, turned, width, width, extent);
        topColumns_(turned, width, extent, width, static_cast<size_t>(k_), op_.largest, rows);
        storeTop(from, {extent_, 1}, rows, count, arguments, first * k_, {k_, 1});
      }
    });
  }

  // Lines that lie side by side.
  void some(const runtime::LaunchArguments& arguments, int64_t line, int64_t count, char* scratch) const {
    const int64_t first = line / inner_ * extent_ * inner_ + line % inner_;
    const char* from = static_cast<const char*>(arguments.inputs[0]) + first * bytes_;
    if (inner_ != 1) {
      char* const near = scratch + extent_ * static_cast<int64_t>(sizeof(WideKey) + sizeof(int64_t));
      transpose_(from, static_cast<size_t>(inner_), near, static_cast<size_t>(extent_), static_cast<size_t>(extent_),
                 static_cast<size_t>(count));
      from = near;
    }
    for (int64_t i = 0; i < count; ++i, from += extent_ * bytes_) {
      switch (computedIn_) {
        case DataType::kF32: one<float>(arguments, line + i, from, scratch); break;
        case DataType::kI64: one<int64_t>(arguments, line + i, from, scratch); break;
        case DataType::kI32: one<int32_t>(arguments, line + i, from, scratch); break;
        case DataType::kI8: one<int8_t>(arguments, line + i, from, scratch); break;
        default: one<uint8_t>(arguments, line + i, from, scratch); break;
      }
    }
  }

  // The line whose elements stand behind each other at `from`.
  template <typename T>
  void one(const runtime::LaunchArguments& arguments, int64_t line, const char* from, char* scratch) const {
    const char* const source = from;
    char* const keys = scratch;
    char* const wide = keys + extent_ * static_cast<int64_t>(sizeof(WideKey));
    if (computedIn_ == DataType::kF32 && type_ != DataType::kF32) {
      castFunction(type_, DataType::kF32)(from, nullptr, nullptr, wide, static_cast<size_t>(extent_));
      from = wide;
    }
    const auto* const values = reinterpret_cast<const T*>(from);
    const int64_t to = line / inner_ * k_ * inner_ + line % inner_;
    if (sortsAll_ && !isRanked_) {
      if (const uint64_t* const sorted = sortedKeys(values, reinterpret_cast<uint64_t*>(keys)))
        return storeKeys(sorted, source, arguments, to);
    }
    using Key = decltype(keyOf(T{}, 0, true));
    auto* const best = reinterpret_cast<Key*>(keys);
    if (k_ == 1) {
      best[0] = keyOf(T{}, bestOf(values), false);
    } else if (isRanked_) {
      if constexpr (std::is_same_v<Key, uint64_t>) {
        uint64_t all[kMostRanked];
        for (int64_t i = 0; i < extent_; ++i) all[i] = keyOf(values[i], i, op_.largest);
        rank_(all, static_cast<size_t>(extent_), static_cast<size_t>(k_), best);
      }
    } else {
      select(
          best, extent_, k_, [&](int64_t i) { return keyOf(values[i], i, op_.largest); },
          [&](int64_t i, const Key& key) {
            return static_cast<int64_t>(scan_.better(values, static_cast<size_t>(i), static_cast<size_t>(extent_),
                                                     op_.largest, values + indexOf(key)));
          });
    }
    storeKeys(best, source, arguments, to);
  }

  // The keys of a line in order, in memory for twice as many; null where its integers are too far apart for keys.
  template <typename T>
  const uint64_t* sortedKeys(const T* values, uint64_t* keys) const {
    if constexpr (std::is_same_v<T, int64_t>) {
      const auto [least, most] = std::minmax_element(values, values + extent_);
      const auto low = static_cast<uint64_t>(*least), high = static_cast<uint64_t>(*most);
      if (high - low > std::numeric_limits<uint32_t>::max()) return nullptr;
      for (int64_t i = 0; i < extent_; ++i) {
        const auto value = static_cast<uint64_t>(values[i]);
        keys[i] = (op_.largest ? high - value : value - low) << 32 | static_cast<uint32_t>(i);
      }
    } else {
      for (int64_t i = 0; i < extent_; ++i) keys[i] = keyOf(values[i], i, op_.largest);
    }
    return sortByOrder(keys, keys + extent_, extent_);
  }

  // One element of each of some lines, and its index: elements from one line to the next, and along one.
  struct LineSteps {
    int64_t line, along;
  };
  void storeFirst(const char* from, LineSteps steps, const int64_t* indices, int64_t count,
                  const runtime::LaunchArguments& arguments, int64_t to) const {
    const auto values = [&]<typename Element>(Element) {
      const auto* const source = reinterpret_cast<const Element*>(from);
      auto* const target = static_cast<Element*>(arguments.outputs[0]) + to;
      for (int64_t i = 0; i < count; ++i) target[i] = source[i * steps.line + indices[i] * steps.along];
    };
    switch (bytes_) {
      case 1: values(uint8_t{}); break;
      case 2: values(uint16_t{}); break;
      case 4: values(uint32_t{}); break;
      default: values(uint64_t{}); break;
    }
    if (op_.indexType == DataType::kI64) {
      std::copy_n(indices, count, static_cast<int64_t*>(arguments.outputs[1]) + to);
    } else {
      std::copy_n(indices, count, static_cast<int32_t*>(arguments.outputs[1]) + to);
    }
  }

  // The best elements of each of at most kTopColumns lines, and their indices.
  void storeTop(const char* from, LineSteps steps, const int32_t* rows, int64_t count,
                const runtime::LaunchArguments& arguments, int64_t to, LineSteps target) const {
    const auto each = [&](auto store) {
      for (int64_t j = 0; j < k_; ++j) {
        for (int64_t i = 0; i < count; ++i)
          store(to + i * target.line + j * target.along, i, int64_t{rows[j * static_cast<int64_t>(kTopColumns) + i]});
      }
    };
    const auto values = [&]<typename Element>(Element) {
      const auto* const source = reinterpret_cast<const Element*>(from);
      auto* const out = static_cast<Element*>(arguments.outputs[0]);
      each([&](int64_t at, int64_t i, int64_t row) { out[at] = source[i * steps.line + row * steps.along]; });
    };
    switch (bytes_) {
      case 1: values(uint8_t{}); break;
      case 2: values(uint16_t{}); break;
      default: values(uint32_t{}); break;
    }
    const auto indices = [&](auto* out) {
      each([&](int64_t at, int64_t, int64_t row) {
        out[at] = static_cast<std::remove_reference_t<decltype(*out)>>(row);
      });
    };
    if (op_.indexType == DataType::kI64) {
      indices(static_cast<int64_t*>(arguments.outputs[1]));
    } else {
      indices(static_cast<int32_t*>(arguments.outputs[1]));
    }
  }

  // The elements of a line and their indices.
  template <typename Key>
  void storeKeys(const Key* best, const char* source, const runtime::LaunchArguments& arguments, int64_t to) const {
    if (op_.indexType == DataType::kI64) {
      storeBest(best, source, arguments, to, static_cast<int64_t*>(arguments.outputs[1]));
    } else {
      storeBest(best, source, arguments, to, static_cast<int32_t*>(arguments.outputs[1]));
    }
  }
  template <typename Key, typename Index>
  void storeBest(const Key* best, const char* source, const runtime::LaunchArguments& arguments, int64_t to,
                 Index* indices) const {
    switch (bytes_) {
      case 1: return storeElements<uint8_t>(best, source, arguments.outputs[0], to, indices);
      case 2: return storeElements<uint16_t>(best, source, arguments.outputs[0], to, indices);
      case 4: return storeElements<uint32_t>(best, source, arguments.outputs[0], to, indices);
      default: return storeElements<uint64_t>(best, source, arguments.outputs[0], to, indices);
    }
  }
  template <typename Element, typename Key, typename Index>
  void storeElements(const Key* best, const char* source, void* out, int64_t to, Index* indices) const {
    const auto* const from = reinterpret_cast<const Element*>(source);
    for (int64_t j = 0; j < k_; ++j, to += inner_) {
      const int64_t index = indexOf(best[j]);
      static_cast<Element*>(out)[to] = from[index];
      indices[to] = static_cast<Index>(index);
    }
  }

  // The first of the best elements: the extreme by vectors, then where it stands. NaN is above all numbers, so that the
  // maximum is one, and the minimum is one only where there is no number.
  template <typename T>
  int64_t bestOf(const T* values) const {
    T extreme{};
    const auto functions = reduceFunctions(op_.largest ? ops::ReduceOp::kMax : ops::ReduceOp::kMin, computedIn_);
    functions.start(&extreme, 1);
    functions.row(values, static_cast<size_t>(extent_), &extreme);
    if (extreme != extreme) {
      int64_t best = 0;
      for (int64_t i = 1; i < extent_ && (op_.largest ? values[best] == values[best] : true); ++i) {
        const bool better = op_.largest
                                ? values[i] != values[i]
                                : values[i] < values[best] || (values[best] != values[best] && values[i] == values[i]);
        best = better ? i : best;
      }
      return best;
    }
    constexpr int64_t kStep = 64;
    int64_t i = 0;
    for (; i + kStep <= extent_; i += kStep) {
      int found = 0;
      for (int64_t k = 0; k < kStep; ++k) found |= values[i + k] == extreme ? 1 : 0;
      if (found != 0) break;
    }
    while (values[i] != extreme) ++i;
    return i;
  }

  ops::TopK op_;
  DataType type_ = DataType::kF32, computedIn_ = DataType::kF32;
  int64_t bytes_ = 4;
  int64_t outer_ = 0, extent_ = 0, inner_ = 0, k_ = 0;
  int64_t jobs_ = 1, lineBytes_ = 0, together_ = 1;
  decltype(TransposeFunctions::transpose) transpose_ = nullptr;
  ScanFunctions scan_;
  TopColumnsFunction topColumns_ = nullptr;
  bool byColumns_ = false, areShort_ = false, topsAreShort_ = false, isHalf_ = false;
  bool isRanked_ = false;  // most of a short line
  bool sortsAll_ = false;
  RankFunction rank_ = rankFunction();
};

}  // namespace

KernelRow kernelRow_topk() { return {"topk", 1, &loadSimple<ops::TopK, TopKInstance>}; }

}  // namespace tenon::backends::cpu
