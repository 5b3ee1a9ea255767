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

// NaN wins, and stays.
struct Maximum {
  template <typename T>
  static HWY_INLINE T one(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return b > a || b != b ? b : a;
    return b > a ? b : a;
  }
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V of(D, V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
      return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
    } else {
      return hn::Max(a, b);
    }
  }
  template <typename T>
  static constexpr T start() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
};
struct Sum {
  template <typename T>
  static HWY_INLINE T one(T a, T b) {
    return a + b;
  }
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V of(D, V a, V b) {
    return hn::Add(a, b);
  }
  template <typename T>
  static constexpr T start() {
    return T(0);
  }
};

template <typename Op, typename T>
void add(const void* vx, void* va, size_t count) {
  const hn::ScalableTag<T> d;
  const auto* x = static_cast<const T*>(vx);
  auto* acc = static_cast<T*>(va);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(Op::of(d, hn::LoadU(d, acc + i), hn::LoadU(d, x + i)), d, acc + i);
  for (; i < count; ++i) acc[i] = Op::one(acc[i], x[i]);
}

template <typename Op, typename T>
void fill(void* to, size_t count) {
  std::fill_n(static_cast<T*>(to), count, Op::template start<T>());
}

// Windows that begin side by side.
template <typename Op, typename T>
HWY_INLINE size_t slideByOne(const T* x, size_t window, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    auto joined = hn::LoadU(d, x + i);
    for (size_t t = 1; t < window; ++t) joined = Op::of(d, joined, hn::LoadU(d, x + i + t));
    hn::StoreU(joined, d, out + i);
  }
  return i;
}

// Windows that begin at every other element; the last load stays within the windows.
template <typename Op, typename T>
HWY_INLINE size_t slideByTwo(const T* x, size_t window, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes < count; i += lanes) {
    hn::Vec<decltype(d)> even, odd, joined;
    hn::LoadInterleaved2(d, x + 2 * i, joined, odd);
    if (window > 1) joined = Op::of(d, joined, odd);
    for (size_t t = 2; t < window; t += 2) {
      hn::LoadInterleaved2(d, x + 2 * i + t, even, odd);
      joined = Op::of(d, joined, even);
      if (t + 1 < window) joined = Op::of(d, joined, odd);
    }
    hn::StoreU(joined, d, out + i);
  }
  return i;
}

template <typename Op, typename T>
void slide(const void* vx, size_t window, size_t stride, void* vo, size_t count) {
  const T* x = static_cast<const T*>(vx);
  T* out = static_cast<T*>(vo);
  size_t first = 0;
  if (stride == 1) first = slideByOne<Op, T>(x, window, out, count);
  if (stride == 2) first = slideByTwo<Op, T>(x, window, out, count);
  for (size_t i = first; i < count; ++i) {
    T joined = x[i * stride];
    for (size_t t = 1; t < window; ++t) joined = Op::one(joined, x[i * stride + t]);
    out[i] = joined;
  }
}

template <typename Op, typename T>
LinePoolFunctions of() {
  return {add<Op, T>, slide<Op, T>, fill<Op, T>};
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
