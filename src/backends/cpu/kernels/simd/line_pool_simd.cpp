// Loops of pooling over lines, in Highway: written once, compiled per instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/line_pool_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/simd/line_pool_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace lines {

namespace hn = hwy::HWY_NAMESPACE;

// Of numbers alone.
struct Maximum {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V of(D, V a, V b) {
    return hn::Max(a, b);
  }
  template <typename T>
  static HWY_INLINE T one(T a, T b) {
    return b > a ? b : a;
  }
  template <typename T>
  static constexpr T start() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
};
// NaN wins, and stays.
struct MaximumOrNan : Maximum {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V of(D, V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
      return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
    } else {
      return hn::Max(a, b);
    }
  }
  template <typename T>
  static HWY_INLINE T one(T a, T b) {
    return b > a || b != b ? b : a;
  }
};
struct Sum {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V of(D, V a, V b) {
    return hn::Add(a, b);
  }
  template <typename T>
  static HWY_INLINE T one(T a, T b) {
    return a + b;
  }
  template <typename T>
  static constexpr T start() {
    return T(0);
  }
};

// NaN does not survive the fast maximum, so it is looked for beside it.
template <typename Op, typename T>
constexpr bool kSeeksNan = std::is_same_v<Op, Maximum>&& std::is_floating_point_v<T>;

// Joins the vectors of rows; how many elements were joined.
template <typename Op, typename T>
HWY_INLINE size_t joinVectors(const void* const* rows, size_t rowCount, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto joined = hn::LoadU(d, static_cast<const T*>(rows[0]) + i);
    for (size_t r = 1; r < rowCount; ++r) joined = Op::of(d, joined, hn::LoadU(d, static_cast<const T*>(rows[r]) + i));
    hn::StoreU(joined, d, out + i);
  }
  return i;
}

// The same, and whether there may be a NaN: then the sum of the rows has one, or infinities of both signs.
template <typename Op, typename T>
HWY_INLINE bool joinNumbers(const void* const* rows, size_t rowCount, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  auto any = hn::IsNaN(hn::Zero(d));
  for (size_t i = 0; i + lanes <= count; i += lanes) {
    V joined = hn::LoadU(d, static_cast<const T*>(rows[0]) + i);
    V sum = joined;
    for (size_t r = 1; r < rowCount; ++r) {
      const V next = hn::LoadU(d, static_cast<const T*>(rows[r]) + i);
      sum = hn::Add(sum, next);
      joined = Op::of(d, joined, next);
    }
    any = hn::Or(any, hn::IsNaN(sum));
    hn::StoreU(joined, d, out + i);
  }
  return !hn::AllFalse(d, any);
}

template <typename Op, typename T>
bool join(const void* const* rows, size_t rowCount, void* vOut, size_t count) {
  T* const out = static_cast<T*>(vOut);
  using Each = std::conditional_t<kSeeksNan<Op, T>, MaximumOrNan, Op>;
  bool hasNan = false;
  size_t i = count - count % hn::Lanes(hn::ScalableTag<T>());
  if constexpr (kSeeksNan<Op, T>) {
    if (rows[0] == vOut) {  // which the fast way would overwrite before it is known whether it was right
      i = joinVectors<Each, T>(rows, rowCount, out, count);
      hasNan = true;
    } else if (joinNumbers<Op, T>(rows, rowCount, out, count)) {
      joinVectors<Each, T>(rows, rowCount, out, count);
      hasNan = true;
    }
  } else {
    i = joinVectors<Op, T>(rows, rowCount, out, count);
  }
  for (; i < count; ++i) {
    T joined = static_cast<const T*>(rows[0])[i];
    for (size_t r = 1; r < rowCount; ++r) joined = Each::one(joined, static_cast<const T*>(rows[r])[i]);
    hasNan = hasNan || joined != joined;
    out[i] = joined;
  }
  return hasNan;
}

template <typename Op, typename T>
void fill(void* to, size_t count) {
  std::fill_n(static_cast<T*>(to), count, Op::template start<T>());
}

// One vector of windows that begin side by side, or at every other element.
template <typename Op, typename T>
HWY_INLINE auto besideEachOther(const T* x, size_t window) {
  const hn::ScalableTag<T> d;
  auto joined = hn::LoadU(d, x);
  for (size_t t = 1; t < window; ++t) joined = Op::of(d, joined, hn::LoadU(d, x + t));
  return joined;
}
template <typename Op, typename T>
HWY_INLINE auto atEveryOther(const T* x, size_t window) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> even, odd, joined;
  hn::LoadInterleaved2(d, x, joined, odd);
  if (window > 1) joined = Op::of(d, joined, odd);
  for (size_t t = 2; t < window; t += 2) {
    hn::LoadInterleaved2(d, x + t, even, odd);
    joined = Op::of(d, joined, even);
    if (t + 1 < window) joined = Op::of(d, joined, odd);
  }
  return joined;
}

template <typename Op, typename T>
HWY_INLINE auto atEveryThird(const T* x, size_t window) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> a, b, c, joined;
  hn::LoadInterleaved3(d, x, joined, b, c);
  if (window > 1) joined = Op::of(d, joined, b);
  if (window > 2) joined = Op::of(d, joined, c);
  for (size_t t = 3; t < window; t += 3) {
    hn::LoadInterleaved3(d, x + t, a, b, c);
    joined = Op::of(d, joined, a);
    if (t + 1 < window) joined = Op::of(d, joined, b);
    if (t + 2 < window) joined = Op::of(d, joined, c);
  }
  return joined;
}

// One vector of windows whose cells stand apart; the windows begin at every stride-th element (at most three).
template <typename T>
HWY_INLINE auto everyStride(const T* x, size_t stride) {
  const hn::ScalableTag<T> d;
  if (stride == 1) return hn::LoadU(d, x);
  hn::Vec<decltype(d)> first, second, third;
  if (stride == 2) {
    hn::LoadInterleaved2(d, x, first, second);
  } else {
    hn::LoadInterleaved3(d, x, first, second, third);
  }
  return first;
}
template <typename Op, typename T>
HWY_INLINE auto apart(const T* x, LineWindow window, size_t stride) {
  auto joined = everyStride(x, stride);
  for (size_t k = 1; k < window.cells; ++k)
    joined = Op::of(hn::ScalableTag<T>(), joined, everyStride(x + k * window.step, stride));
  return joined;
}

// The last vector is computed whole and stored in part.
template <typename T, typename Vector>
HWY_INLINE void eachVector(T* out, size_t count, Vector vector) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  static_assert(3 * HWY_MAX_BYTES <= kLineSlack);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(vector(i), d, out + i);
  if (i == count) return;
  HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(vector(i), d, rest);
  std::copy_n(rest, count - i, out + i);
}

template <typename Op, typename T>
void slideOf(const T* x, LineWindow shape, size_t stride, T* out, size_t count) {
  const size_t window = shape.cells;
  if (shape.step > 1 && window > 1 && stride <= 3)
    return eachVector(out, count, [&](size_t i) HWY_ATTR { return apart<Op>(x + stride * i, shape, stride); });
  if (stride == 1) return eachVector(out, count, [&](size_t i) HWY_ATTR { return besideEachOther<Op>(x + i, window); });
  if (stride == 2)
    return eachVector(out, count, [&](size_t i) HWY_ATTR { return atEveryOther<Op>(x + 2 * i, window); });
  if (stride == 3)
    return eachVector(out, count, [&](size_t i) HWY_ATTR { return atEveryThird<Op>(x + 3 * i, window); });
  for (size_t i = 0; i < count; ++i) {
    T joined = x[i * stride];
    for (size_t t = 1; t < window; ++t) joined = Op::one(joined, x[i * stride + t * shape.step]);
    out[i] = joined;
  }
}

template <typename Op, typename T>
void slide(const void* x, bool hasNan, LineWindow window, size_t stride, void* out, size_t count, const float* factors,
           float factor) {
  T* HWY_RESTRICT to = static_cast<T*>(out);
  if constexpr (kSeeksNan<Op, T>) {
    if (hasNan) return slideOf<MaximumOrNan>(static_cast<const T*>(x), window, stride, to, count);
  }
  slideOf<Op>(static_cast<const T*>(x), window, stride, to, count);
  if constexpr (std::is_same_v<Op, Sum>) {
    for (size_t i = 0; i < count; ++i) to[i] *= factors[i] * factor;
  }
}

template <typename Op, typename T>
LinePoolFunctions of() {
  return {join<Op, T>, slide<Op, T>, fill<Op, T>};
}

}  // namespace lines

LinePoolFunctions findLineMaximum(DataType type) {
  switch (type) {
    case DataType::kF32: return lines::of<lines::Maximum, float>();
    case DataType::kI32: return lines::of<lines::Maximum, int32_t>();
    case DataType::kI8: return lines::of<lines::Maximum, int8_t>();
    case DataType::kU8: return lines::of<lines::Maximum, uint8_t>();
    default: return {};
  }
}

LinePoolFunctions findLineSum() { return lines::of<lines::Sum, float>(); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findLineMaximum);
TENON_SIMD_TABLE(findLineSum);

}  // namespace

LinePoolFunctions linePoolMaximum(DataType type) { return TENON_SIMD_BEST(findLineMaximum)(type); }
LinePoolFunctions linePoolSum() { return TENON_SIMD_BEST(findLineSum)(); }

}  // namespace tenon::backends::cpu
#endif
