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
#include "backends/cpu/kernels/simd/minmax.inc"

#include "backends/cpu/kernels/simd/line_join.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace lines {

// One vector of windows that begin side by side, or at every other element.
template <typename Op, typename T, typename Count>
HWY_INLINE auto besideEachOther(const T* x, Count window, size_t step = 1) {
  const hn::ScalableTag<T> d;
  auto joined = hn::LoadU(d, x);
  for (size_t t = 1; t < window; ++t) joined = Op::of(d, joined, hn::LoadU(d, x + t * step));
  return joined;
}
#if HWY_TARGET != HWY_SCALAR
template <typename T, typename V>
HWY_INLINE void everyOther(const T* x, V& even, V& odd) {
  const hn::ScalableTag<T> d;
  if constexpr (sizeof(T) == 4 || sizeof(T) == 2) {
    const V low = hn::LoadU(d, x);
    const V high = hn::LoadU(d, x + hn::Lanes(d));
    even = hn::ConcatEven(d, high, low);
    odd = hn::ConcatOdd(d, high, low);
  } else {
    hn::LoadInterleaved2(d, x, even, odd);
  }
}
#else
template <typename T, typename V>
HWY_INLINE void everyOther(const T* x, V& even, V& odd) {
  hn::LoadInterleaved2(hn::ScalableTag<T>(), x, even, odd);
}
#endif
template <typename Op, typename T, typename Count>
HWY_INLINE auto atEveryOther(const T* x, Count window) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> even, odd, joined;
  everyOther(x, joined, odd);
  if (window > 1) joined = Op::of(d, joined, odd);
  for (size_t t = 2; t < window; t += 2) {
    everyOther(x + t, even, odd);
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

// The last vector is computed whole; it shares results with the one before, or is stored in part.
template <typename T, typename Vector>
HWY_INLINE void eachVector(T* out, size_t count, Vector vector) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  static_assert(3 * HWY_MAX_BYTES <= kLineSlack);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(vector(i), d, out + i);
  if (i == count) return;
  if (count >= lanes) return hn::StoreU(vector(count - lanes), d, out + count - lanes);  // some once more
  if constexpr (HWY_TARGET <= HWY_AVX3) return hn::BlendedStore(vector(i), hn::FirstN(d, count - i), d, out + i);
  HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(vector(i), d, rest);
  std::copy_n(rest, count - i, out + i);
}

// `finished` is what becomes of a vector of joined windows from result i of a line on, `scaled` of one of them.
template <typename Op, typename T, typename Finished, typename Scaled>
HWY_INLINE void slideOf(const SlidLines& lines, const T* from, T* to, Finished finished, Scaled scaled) {
  using Two = std::integral_constant<size_t, 2>;
  using Three = std::integral_constant<size_t, 3>;
  const size_t window = lines.window.cells;
  const size_t step = lines.window.step;
  const size_t stride = lines.stride;
  const auto each = [&](auto vector) HWY_ATTR {
    for (size_t line = 0; line < lines.lines; ++line) {
      const T* const x = from + line * lines.pitch;
      eachVector(to + line * lines.count, lines.count,
                 [&](size_t i) HWY_ATTR { return finished(vector(x + stride * i), line, i); });
    }
  };
  if (step > 1 && window == 3 && stride == 1)
    return each([&](const T* x) HWY_ATTR { return besideEachOther<Op>(x, Three(), step); });
  if (step > 1 && window > 1 && stride <= 3)
    return each([&](const T* x) HWY_ATTR { return apart<Op>(x, lines.window, stride); });
  if (stride == 1) {
    if (window == 2) return each([&](const T* x) HWY_ATTR { return besideEachOther<Op>(x, Two()); });
    if (window == 3) return each([&](const T* x) HWY_ATTR { return besideEachOther<Op>(x, Three()); });
    return each([&](const T* x) HWY_ATTR { return besideEachOther<Op>(x, window); });
  }
  if (stride == 2) {
    if (window == 2) return each([&](const T* x) HWY_ATTR { return atEveryOther<Op>(x, Two()); });
    if (window == 3) return each([&](const T* x) HWY_ATTR { return atEveryOther<Op>(x, Three()); });
    return each([&](const T* x) HWY_ATTR { return atEveryOther<Op>(x, window); });
  }
  if (stride == 3) return each([&](const T* x) HWY_ATTR { return atEveryThird<Op>(x, window); });
  for (size_t line = 0; line < lines.lines; ++line) {
    const T* const x = from + line * lines.pitch;
    for (size_t i = 0; i < lines.count; ++i) {
      T joined = x[i * stride];
      for (size_t t = 1; t < window; ++t) joined = Op::one(joined, x[i * stride + t * step]);
      to[line * lines.count + i] = scaled(joined, line, i);
    }
  }
}

template <typename Op, typename T>
void slide(const void* x, bool hasNan, const SlidLines& lines, void* out) {
  T* const to = static_cast<T*>(out);
  const T* const from = static_cast<const T*>(x);
  const auto same = [](auto value, size_t, size_t) HWY_ATTR { return value; };
  if constexpr (kSeeksNan<Op, T>) {
    if (hasNan) return slideOf<MaximumOrNan>(lines, from, to, same, same);
  }
  if constexpr (std::is_same_v<Op, Sum>) {
    const hn::ScalableTag<T> d;
    slideOf<Op>(
        lines, from, to,
        [&](auto vector, size_t line, size_t i) HWY_ATTR {
          return hn::Mul(vector, hn::Mul(hn::LoadU(d, lines.factors + i), hn::Set(d, lines.lineFactors[line])));
        },
        [&](T value, size_t line, size_t i) HWY_ATTR { return value * (lines.factors[i] * lines.lineFactors[line]); });
  } else {
    slideOf<Op>(lines, from, to, same, same);
  }
}

// Numbers of 16 bits whose order is that of the halves, every NaN above the rest: the bits of what is negative are
// turned, and its NaN, which then are the least of all, come to the top as the numbers turn over.
template <int16_t kNans>
void order(const void* x, const void*, const void*, void* out, size_t count) {
  const auto* HWY_RESTRICT from = static_cast<const int16_t*>(x);
  auto* HWY_RESTRICT to = static_cast<int16_t*>(out);
  for (size_t i = 0; i < count; ++i) {
    const auto turned = static_cast<uint16_t>(from[i] ^ ((from[i] >> 15) & 0x7fff));
    to[i] = static_cast<int16_t>(static_cast<uint16_t>(turned - kNans));
  }
}
template <int16_t kNans>
void disorder(const void* x, const void*, const void*, void* out, size_t count) {
  const auto* HWY_RESTRICT from = static_cast<const uint16_t*>(x);
  auto* HWY_RESTRICT to = static_cast<int16_t*>(out);
  for (size_t i = 0; i < count; ++i) {
    const auto turned = static_cast<int16_t>(static_cast<uint16_t>(from[i] + kNans));
    to[i] = static_cast<int16_t>(turned ^ ((turned >> 15) & 0x7fff));
  }
}
constexpr int16_t kNansOfF16 = 0x3ff, kNansOfBf16 = 0x7f;  // of one sign

template <typename Op, typename T>
LinePoolFunctions of() {
  return {join<Op, T>, joinLines<Op, T>, slide<Op, T>, fill<Op, T>};
}

}  // namespace lines

LinePoolFunctions findLineMaximum(DataType type) {
  switch (type) {
    case DataType::kF32: return lines::of<lines::Maximum, float>();
    case DataType::kI32: return lines::of<lines::Maximum, int32_t>();
    case DataType::kI8: return lines::of<lines::Maximum, int8_t>();
    case DataType::kU8: return lines::of<lines::Maximum, uint8_t>();
    case DataType::kF16:
    case DataType::kBF16: return lines::of<lines::Maximum, int16_t>();
    default: return {};
  }
}
HalfOrder findHalfOrder(DataType type) {
  if (type == DataType::kF16) return {lines::order<lines::kNansOfF16>, lines::disorder<lines::kNansOfF16>};
  return {lines::order<lines::kNansOfBf16>, lines::disorder<lines::kNansOfBf16>};
}

LinePoolFunctions findLineSum() { return lines::of<lines::Sum, float>(); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findLineMaximum);
TENON_SIMD_TABLE(findLineSum);
TENON_SIMD_TABLE(findHalfOrder);

}  // namespace

LinePoolFunctions linePoolMaximum(DataType type) { return TENON_SIMD_BEST(findLineMaximum)(type); }
HalfOrder halfOrder(DataType type) { return TENON_SIMD_BEST(findHalfOrder)(type); }
LinePoolFunctions linePoolSum() { return TENON_SIMD_BEST(findLineSum)(); }

}  // namespace tenon::backends::cpu
#endif
