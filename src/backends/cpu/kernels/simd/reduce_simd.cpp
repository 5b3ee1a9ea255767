// Loops of reductions. They are plain loops over as many accumulators as fill a few vectors, from which the compiler
// makes vectors for each instruction set. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/reduce_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/simd/reduce_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace reducing {

struct Sum {
  template <typename A>
  static HWY_INLINE A of(A a, A b) {
    if constexpr (std::is_same_v<A, int64_t>) {
      return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
  template <typename A>
  static constexpr A start() {
    return A(0);
  }
};
struct Product {
  template <typename A>
  static HWY_INLINE A of(A a, A b) {
    if constexpr (std::is_same_v<A, int64_t>) {
      return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
  template <typename A>
  static constexpr A start() {
    return A(1);
  }
};
// NaN wins, and stays.
struct Most {
  template <typename A>
  static HWY_INLINE A of(A a, A b) {
    return (b > a) | (b != b) ? b : a;
  }
  template <typename A>
  static constexpr A start() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
};
struct Least {
  template <typename A>
  static HWY_INLINE A of(A a, A b) {
    return (b < a) | (b != b) ? b : a;
  }
  template <typename A>
  static constexpr A start() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
};

template <typename A>
constexpr size_t kWide = 256 / sizeof(A);  // accumulators that are kept in registers

template <typename Op, typename A>
void start(void* to, size_t count) {
  std::fill_n(static_cast<A*>(to), count, Op::template start<A>());
}

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

template <typename Op, typename V>
HWY_INLINE V better(V a, V b) {
  return std::is_same_v<Op, Most> ? hn::Max(a, b) : hn::Min(a, b);
}

// Extremes of f32: of numbers alone, with NaN looked for beside them. kRows whole rows at a time, as memory is read
// fastest; the last vector may share columns with the one before.
template <size_t kRows, typename Op, typename D>
HWY_INLINE void extremesOfRows(D d, const float* HWY_RESTRICT x, size_t step, float* HWY_RESTRICT to, size_t count) {
  const size_t lanes = hn::Lanes(d);
  for (size_t first = 0; first < count; first += lanes) {
    const size_t i = std::min(first, count - lanes);
    auto joined = hn::LoadU(d, to + i);
    auto isNan = hn::IsNaN(joined);
    for (size_t r = 0; r < kRows; ++r) {
      const auto next = hn::LoadU(d, x + r * step + i);
      isNan = hn::Or(isNan, hn::IsNaN(next));
      joined = better<Op>(joined, next);
    }
    hn::StoreU(hn::IfThenElse(isNan, hn::NaN(d), joined), d, to + i);
  }
}
// Few columns, kVectors at a time, whose latencies hide each other: what is joined stays in registers. The last vector
// may share columns with the one before.
template <size_t kVectors, typename Op, typename D>
HWY_INLINE void extremesOfVectors(D d, const float* HWY_RESTRICT x, size_t step, size_t rows, float* HWY_RESTRICT to,
                                  size_t count, size_t first) {
  const size_t lanes = hn::Lanes(d);
  hn::Vec<D> joined[kVectors];
  hn::Mask<D> isNan[kVectors];
  size_t at[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    at[v] = std::min(first + v * lanes, count - lanes);
    joined[v] = hn::LoadU(d, to + at[v]);
    isNan[v] = hn::IsNaN(joined[v]);
  }
  for (size_t r = 0; r < rows; ++r, x += step) {
    for (size_t v = 0; v < kVectors; ++v) {
      const auto next = hn::LoadU(d, x + at[v]);
      isNan[v] = hn::Or(isNan[v], hn::IsNaN(next));
      joined[v] = better<Op>(joined[v], next);
    }
  }
  for (size_t v = 0; v < kVectors; ++v) hn::StoreU(hn::IfThenElse(isNan[v], hn::NaN(d), joined[v]), d, to + at[v]);
}
template <typename Op, typename D>
HWY_INLINE void extremesOfFew(D d, const float* HWY_RESTRICT x, size_t step, size_t rows, float* HWY_RESTRICT to,
                              size_t count) {
  const size_t lanes = hn::Lanes(d);
  size_t first = 0;
  for (; first + lanes < count; first += 2 * lanes) extremesOfVectors<2, Op>(d, x, step, rows, to, count, first);
  if (first < count) extremesOfVectors<1, Op>(d, x, step, rows, to, count, first);
}
template <typename Op, typename D>
HWY_INLINE void extremes(D d, const float* HWY_RESTRICT x, size_t step, size_t rows, float* HWY_RESTRICT to,
                         size_t count) {
  constexpr size_t kRows = 8;
  if (count <= 4 * hn::Lanes(d)) return extremesOfFew<Op>(d, x, step, rows, to, count);
  size_t r = 0;
  for (; r + kRows <= rows; r += kRows) extremesOfRows<kRows, Op>(d, x + r * step, step, to, count);
  for (; r < rows; ++r) extremesOfRows<1, Op>(d, x + r * step, step, to, count);
}
// Returns how many columns were joined: all, or none where there are few.
template <typename Op>
HWY_INLINE size_t extremes(const float* HWY_RESTRICT x, size_t step, size_t rows, float* HWY_RESTRICT to,
                           size_t count) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> few;
  if (count >= hn::Lanes(d)) {
    extremes<Op>(d, x, step, rows, to, count);
  } else if (count >= hn::Lanes(few)) {
    extremes<Op>(few, x, step, rows, to, count);
  } else {
    return 0;
  }
  return count;
}

// The extreme of a row of at least one vector; the last one shares elements with the one before.
template <typename Op>
HWY_INLINE float extremeOfRow(const float* HWY_RESTRICT x, size_t count) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  V first = hn::LoadU(d, x);
  V second = hn::LoadU(d, x + count - lanes);
  auto isNan = hn::Or(hn::IsNaN(first), hn::IsNaN(second));
  size_t i = lanes;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const V a = hn::LoadU(d, x + i);
    const V b = hn::LoadU(d, x + i + lanes);
    isNan = hn::Or(isNan, hn::Or(hn::IsNaN(a), hn::IsNaN(b)));
    first = better<Op>(first, a);
    second = better<Op>(second, b);
  }
  if (i + lanes <= count) {
    const V a = hn::LoadU(d, x + i);
    isNan = hn::Or(isNan, hn::IsNaN(a));
    first = better<Op>(first, a);
  }
  if (!hn::AllFalse(d, isNan)) return std::numeric_limits<float>::quiet_NaN();
  const V all = better<Op>(first, second);
  return hn::GetLane(std::is_same_v<Op, Most> ? hn::MaxOfLanes(d, all) : hn::MinOfLanes(d, all));
}

// The sum of a row, four vectors at a time.
HWY_INLINE float sumOfRow(const float* HWY_RESTRICT x, size_t count) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  V sums[4];
  for (auto& sum : sums) sum = hn::Zero(d);
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (size_t v = 0; v < 4; ++v) sums[v] = hn::Add(sums[v], hn::LoadU(d, x + i + v * lanes));
  }
  for (; i + lanes <= count; i += lanes) sums[0] = hn::Add(sums[0], hn::LoadU(d, x + i));
  float rest = 0;
  if constexpr (HWY_TARGET <= HWY_AVX2) {  // loads of parts of a vector read nothing behind it
    if (i < count) sums[1] = hn::Add(sums[1], hn::MaskedLoad(hn::FirstN(d, count - i), d, x + i));
  } else {
    for (; i < count; ++i) rest += x[i];
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])))) + rest;
}

template <typename Op, typename T>
constexpr bool kIsExtremeOfF32 = std::is_same_v<T, float> && (std::is_same_v<Op, Most> || std::is_same_v<Op, Least>);

#else

template <typename Op, typename T>
constexpr bool kIsExtremeOfF32 = false;
template <typename Op>
size_t extremes(const float*, size_t, size_t, float*, size_t) {
  return 0;
}
template <typename Op>
float extremeOfRow(const float*, size_t) {
  return 0;
}
inline float sumOfRow(const float* x, size_t count) {
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += x[i];
  return sum;
}

#endif

template <typename Op, typename T, typename A>
HWY_INLINE void addWide(const T* HWY_RESTRICT x, size_t step, size_t rows, A* HWY_RESTRICT to) {
  A local[kWide<A>];
  for (size_t k = 0; k < kWide<A>; ++k) local[k] = to[k];
  for (size_t r = 0; r < rows; ++r, x += step) {
    for (size_t k = 0; k < kWide<A>; ++k) local[k] = Op::of(local[k], static_cast<A>(x[k]));
  }
  for (size_t k = 0; k < kWide<A>; ++k) to[k] = local[k];
}

// Whole rows one after another, as memory is read fastest; some rows in f32 before they are added in double.
void sumsOfColumns(const float* HWY_RESTRICT x, size_t step, size_t rows, double* HWY_RESTRICT to, size_t count) {
  constexpr size_t kRows = 32;
  alignas(64) float some[1024];
  for (size_t first = 0; first < rows; first += kRows) {
    const size_t end = std::min(rows, first + kRows);
    std::fill_n(some, count, 0.f);
    size_t r = first;
    for (; r + 4 <= end; r += 4) {
      const float* HWY_RESTRICT a = x + r * step;
      const float* HWY_RESTRICT b = a + step;
      const float* HWY_RESTRICT c = b + step;
      const float* HWY_RESTRICT d = c + step;
      for (size_t k = 0; k < count; ++k) some[k] += (a[k] + b[k]) + (c[k] + d[k]);
    }
    for (; r < end; ++r) {
      const float* HWY_RESTRICT a = x + r * step;
      for (size_t k = 0; k < count; ++k) some[k] += a[k];
    }
    for (size_t k = 0; k < count; ++k) to[k] += static_cast<double>(some[k]);
  }
}

template <typename Op, typename T, typename A>
void columns(const void* vx, size_t step, size_t rows, void* va, size_t count) {
  const T* x = static_cast<const T*>(vx);
  A* HWY_RESTRICT to = static_cast<A*>(va);
  size_t first = 0;
  if constexpr (std::is_same_v<Op, Sum> && std::is_same_v<T, float>) {
    constexpr size_t kBlock = 1024;
    if (count > 1) {
      for (; first < count; first += kBlock)
        sumsOfColumns(x + first, step, rows, to + first, std::min(kBlock, count - first));
      return;
    }
  }
  if constexpr (kIsExtremeOfF32<Op, T>) first = extremes<Op>(x, step, rows, to, count);
  for (; first + kWide<A> <= count; first += kWide<A>) addWide<Op, T, A>(x + first, step, rows, to + first);
  if (count - first == 1) {
    A value = to[first];
    for (size_t r = 0; r < rows; ++r) value = Op::of(value, static_cast<A>(x[r * step + first]));
    to[first] = value;
    return;
  }
  for (size_t r = 0; first < count && r < rows; ++r) {
    const T* HWY_RESTRICT from = x + r * step;
    for (size_t k = first; k < count; ++k) to[k] = Op::of(to[k], static_cast<A>(from[k]));
  }
}

template <size_t kCount, typename Op, typename A>
HWY_INLINE A fold(A* HWY_RESTRICT wide) {
  if constexpr (kCount == 1) {
    return wide[0];
  } else {
    constexpr size_t kHalf = kCount / 2;
    for (size_t k = 0; k < kHalf; ++k) wide[k] = Op::of(wide[k], wide[k + kHalf]);
    return fold<kHalf, Op>(wide);
  }
}

// All of x, by halves of the accumulators.
template <typename Op, typename T, typename A>
HWY_INLINE A whole(const T* HWY_RESTRICT x, size_t count) {
  A wide[kWide<A>];
  for (auto& value : wide) value = Op::template start<A>();
  const size_t rows = count / kWide<A>;
  addWide<Op, T, A>(x, kWide<A>, rows, wide);
  for (size_t i = rows * kWide<A>, k = 0; i < count; ++i, ++k) wide[k] = Op::of(wide[k], static_cast<A>(x[i]));
  return fold<kWide<A>, Op>(wide);
}

template <typename Op, typename T, typename A>
void row(const void* vx, size_t count, void* va) {
  const T* x = static_cast<const T*>(vx);
  A& to = *static_cast<A*>(va);
  constexpr size_t kShort = 16;
  if (count <= kShort) {
    for (size_t i = 0; i < count; ++i) to = Op::of(to, static_cast<A>(x[i]));
    return;
  }
  if constexpr (std::is_same_v<Op, Sum> && std::is_same_v<T, float>) {
    constexpr size_t kChunk = 4096;
    for (size_t i = 0; i < count; i += kChunk) to += static_cast<A>(sumOfRow(x + i, std::min(kChunk, count - i)));
  } else {
    if constexpr (kIsExtremeOfF32<Op, T>) {
      to = Op::of(to, extremeOfRow<Op>(x, count));
    } else {
      to = Op::of(to, whole<Op, T, A>(x, count));
    }
  }
}

// Rows of so few elements that neighbours are worth one accumulator each.
template <size_t kCount, typename Op, typename T, typename A>
void shortRows(const T* HWY_RESTRICT x, size_t rowCount, A* HWY_RESTRICT to) {
  for (size_t r = 0; r < rowCount; ++r) {
    A value = to[r];
    for (size_t i = 0; i < kCount; ++i) value = Op::of(value, static_cast<A>(x[r * kCount + i]));
    to[r] = value;
  }
}

template <typename Op, typename T, typename A>
void rows(const void* vx, size_t step, size_t rowCount, size_t count, void* va) {
  const T* x = static_cast<const T*>(vx);
  A* to = static_cast<A*>(va);
  if (step == count && count == 2) return shortRows<2, Op>(x, rowCount, to);
  if (step == count && count == 3) return shortRows<3, Op>(x, rowCount, to);
  if (step == count && count == 4) return shortRows<4, Op>(x, rowCount, to);
  for (size_t r = 0; r < rowCount; ++r) row<Op, T, A>(x + r * step, count, to + r);
}

template <typename Op, typename A>
void join(const void* more, void* to, size_t count) {
  columns<Op, A, A>(more, 0, 1, to, count);
}

template <typename T, typename A>
HWY_INLINE T saturated(A value) {
  if constexpr (std::is_same_v<T, A> || std::is_floating_point_v<A>) {
    return static_cast<T>(value);
  } else {
    using Limits = std::numeric_limits<T>;
    const A above = value < static_cast<A>(Limits::min()) ? static_cast<A>(Limits::min()) : value;
    return static_cast<T>(above > static_cast<A>(Limits::max()) ? static_cast<A>(Limits::max()) : above);
  }
}

template <typename T, typename A>
void finish(const void* va, size_t count, int64_t, void* vo) {
  const A* HWY_RESTRICT a = static_cast<const A*>(va);
  T* HWY_RESTRICT out = static_cast<T*>(vo);
  for (size_t k = 0; k < count; ++k) out[k] = saturated<T, A>(a[k]);
}

template <typename T, typename A>
void finishMean(const void* va, size_t count, int64_t reduced, void* vo) {
  const A* HWY_RESTRICT a = static_cast<const A*>(va);
  T* HWY_RESTRICT out = static_cast<T*>(vo);
  const bool none = std::is_integral_v<A> && reduced == 0;
  const A divisor = none ? A(1) : static_cast<A>(reduced);
  for (size_t k = 0; k < count; ++k) out[k] = saturated<T, A>(a[k] / divisor);
}

template <typename Op, typename T, typename A>
ReduceFunctions make(bool isMean) {
  return {sizeof(A),
          start<Op, A>,
          columns<Op, T, A>,
          row<Op, T, A>,
          rows<Op, T, A>,
          join<Op, A>,
          isMean ? finishMean<T, A> : finish<T, A>};
}

template <typename T>
ReduceFunctions of(ops::ReduceOp op) {
  using A = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  switch (op) {
    case ops::ReduceOp::kProd: return make<Product, T, A>(false);
    case ops::ReduceOp::kMax: return make<Most, T, T>(false);
    case ops::ReduceOp::kMin: return make<Least, T, T>(false);
    default: return make<Sum, T, A>(op == ops::ReduceOp::kAvg);
  }
}

}  // namespace reducing

ReduceFunctions findReduce(ops::ReduceOp op, DataType type) {
  switch (type) {
    case DataType::kF32: return reducing::of<float>(op);
    case DataType::kI64: return reducing::of<int64_t>(op);
    case DataType::kI32: return reducing::of<int32_t>(op);
    case DataType::kI8: return reducing::of<int8_t>(op);
    case DataType::kU8: return reducing::of<uint8_t>(op);
    default: return {};
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findReduce);

}  // namespace

ReduceFunctions reduceFunctions(ops::ReduceOp op, DataType type) { return TENON_SIMD_BEST(findReduce)(op, type); }

}  // namespace tenon::backends::cpu
#endif
