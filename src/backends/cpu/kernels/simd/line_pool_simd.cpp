// Loops of pooling over lines. They are plain loops over as many results as fill a few vectors, from which the compiler
// makes vectors for each instruction set.
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

#include "backends/cpu/kernels/simd/line_pool_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace lines {

struct Maximum {
  template <typename T>
  static HWY_INLINE T of(T a, T b) {
    return (b > a) | (b != b) ? b : a;
  }
  template <typename T>
  static constexpr T start() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
};
struct Sum {
  template <typename T>
  static HWY_INLINE T of(T a, T b) {
    return a + b;
  }
  template <typename T>
  static constexpr T start() {
    return T(0);
  }
};

template <typename Op, typename T>
void add(const void* vx, void* va, size_t count) {
  const T* HWY_RESTRICT x = static_cast<const T*>(vx);
  T* HWY_RESTRICT acc = static_cast<T*>(va);
  for (size_t i = 0; i < count; ++i) acc[i] = Op::of(acc[i], x[i]);
}

template <typename Op, typename T>
void fill(void* to, size_t count) {
  std::fill_n(static_cast<T*>(to), count, Op::template start<T>());
}

// Stride 0: the one that is given.
template <typename Op, typename T, size_t kStride>
HWY_INLINE void slideBy(const T* HWY_RESTRICT x, size_t window, size_t given, T* HWY_RESTRICT out, size_t count) {
  constexpr size_t kWide = 256 / sizeof(T);
  const size_t stride = kStride == 0 ? given : kStride;
  size_t first = 0;
  for (; first + kWide <= count; first += kWide) {
    T wide[kWide];
    const T* from = x + first * stride;
    for (size_t k = 0; k < kWide; ++k) wide[k] = from[k * stride];
    for (size_t t = 1; t < window; ++t) {
      for (size_t k = 0; k < kWide; ++k) wide[k] = Op::of(wide[k], from[k * stride + t]);
    }
    for (size_t k = 0; k < kWide; ++k) out[first + k] = wide[k];
  }
  for (size_t i = first; i < count; ++i) out[i] = x[i * stride];
  for (size_t t = 1; t < window; ++t) {
    for (size_t i = first; i < count; ++i) out[i] = Op::of(out[i], x[i * stride + t]);
  }
}

template <typename Op, typename T>
void slide(const void* vx, size_t window, size_t stride, void* vo, size_t count) {
  const T* x = static_cast<const T*>(vx);
  T* out = static_cast<T*>(vo);
  if (stride == 1) return slideBy<Op, T, 1>(x, window, stride, out, count);
  if (stride == 2) return slideBy<Op, T, 2>(x, window, stride, out, count);
  slideBy<Op, T, 0>(x, window, stride, out, count);
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
