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
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace lines {

namespace hn = hwy::HWY_NAMESPACE;

// Of numbers alone.
struct Maximum {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V of(D, V a, V b) {
    return greater(a, b);
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
      return greater(a, b);
    }
  }
  template <typename T>
  static HWY_INLINE T one(T a, T b) {
    return b > a || b != b ? b : a;  // NOLINT(misc-redundant-expression): NaN is not itself
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

// Loads of parts of a vector that touch no other memory; below AVX2 Highway's do.
constexpr bool kMasked = HWY_TARGET <= HWY_AVX2;

// The rows, of whose number the compiler may know.
template <typename T, typename Count>
struct Rows {
  HWY_INLINE Rows(const void* const* from, Count all) : count(all) {
    if constexpr (kKnown != 0) {
      for (size_t r = 0; r < kKnown; ++r) own[r] = static_cast<const T*>(from[r]);
    } else {
      others = from;
    }
  }
  HWY_INLINE const T* operator[](size_t r) const {
    if constexpr (kKnown != 0) return own[r];
    return static_cast<const T*>(others[r]);
  }
  static constexpr size_t known(...) { return 0; }
  template <size_t kCount>
  static constexpr size_t known(std::integral_constant<size_t, kCount>*) {
    return kCount;
  }
  static constexpr size_t kKnown = known(static_cast<Count*>(nullptr));
  const T* own[kKnown == 0 ? 1 : kKnown] = {};
  const void* const* others = nullptr;
  Count count;
};

// Calls body(load, first element) for each vector, of which the last one may be loaded in part, and stores what it
// returns; how many elements were joined.
template <typename T, typename Body>
HWY_INLINE size_t eachJoined(size_t count, T* out, Body body) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(body([&](const T* from) HWY_ATTR { return hn::LoadU(d, from); }, i), d, out + i);
  if constexpr (kMasked && (sizeof(T) >= 4 || HWY_TARGET <= HWY_AVX3)) {
    if (i == count) return count;
    const auto some = hn::FirstN(d, count - i);
    hn::StoreU(body([&](const T* from) HWY_ATTR { return hn::MaskedLoad(some, d, from); }, i), d, out + i);
    return count;
  }
  if constexpr (sizeof(T) < 4) {  // maxima, which some more elements once more do not change
    if (i == count || count < lanes) return i;
    hn::StoreU(body([&](const T* from) HWY_ATTR { return hn::LoadU(d, from); }, count - lanes), d, out + count - lanes);
    return count;
  }
  return i;
}

template <typename Op, typename T, typename Count>
HWY_INLINE size_t joinVectors(const Rows<T, Count>& rows, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  return eachJoined(count, out, [&](auto load, size_t i) HWY_ATTR {
    auto joined = load(rows[0] + i);
    for (size_t r = 1; r < rows.count; ++r) joined = Op::of(d, joined, load(rows[r] + i));
    return joined;
  });
}

// The same, and whether there may be a NaN: then the sum of the rows has one, or infinities of both signs.
template <typename Op, typename T, typename Count>
HWY_INLINE size_t joinNumbers(const Rows<T, Count>& rows, T* out, size_t count, bool& hasNan) {
  const hn::ScalableTag<T> d;
  auto any = hn::IsNaN(hn::Zero(d));
  const size_t done = eachJoined(count, out, [&](auto load, size_t i) HWY_ATTR {
    auto joined = load(rows[0] + i);
    auto sum = joined;
    for (size_t r = 1; r < rows.count; ++r) {
      const auto next = load(rows[r] + i);
      sum = hn::Add(sum, next);
      joined = Op::of(d, joined, next);
    }
    any = hn::Or(any, hn::IsNaN(sum));
    return joined;
  });
  hasNan = !hn::AllFalse(d, any);
  return done;
}

template <typename Op, typename T, typename Count>
bool joinOf(const void* const* from, Count rowCount, T* out, size_t count) {
  using Each = std::conditional_t<kSeeksNan<Op, T>, MaximumOrNan, Op>;
  const Rows<T, Count> rows(from, rowCount);
  bool hasNan = false;
  size_t i = 0;
  if constexpr (kSeeksNan<Op, T>) {
    if (rows[0] == out) {  // which the fast way would overwrite before it is known whether it was right
      hasNan = true;
    } else {
      i = joinNumbers<Op>(rows, out, count, hasNan);
    }
    if (hasNan) i = joinVectors<Each>(rows, out, count);
  } else {
    i = joinVectors<Op>(rows, out, count);
  }
  for (; i < count; ++i) {
    T joined = rows[0][i];
    for (size_t r = 1; r < rows.count; ++r) joined = Each::one(joined, rows[r][i]);
    hasNan = hasNan || joined != joined;  // NOLINT(misc-redundant-expression): NaN is not itself
    out[i] = joined;
  }
  return hasNan;
}

template <typename Op, typename T>
bool join(const void* const* rows, size_t rowCount, void* vOut, size_t count) {
  T* const out = static_cast<T*>(vOut);
  switch (rowCount) {
    case 1: return joinOf<Op>(rows, std::integral_constant<size_t, 1>(), out, count);
    case 2: return joinOf<Op>(rows, std::integral_constant<size_t, 2>(), out, count);
    case 3: return joinOf<Op>(rows, std::integral_constant<size_t, 3>(), out, count);
    default: return joinOf<Op>(rows, rowCount, out, count);
  }
}

template <typename Op, typename T>
HWY_INLINE void fillFew(T* out, size_t count) {
  constexpr size_t kFew = 3;  // padding, mostly
  if (count > kFew) {
    std::fill_n(out, count, Op::template start<T>());
    return;
  }
  if (count > 0) out[0] = Op::template start<T>();
  if (count > 1) out[1] = Op::template start<T>();
  if (count > 2) out[2] = Op::template start<T>();
}
template <typename Op, typename T>
void fill(void* to, size_t count) {
  fillFew<Op>(static_cast<T*>(to), count);
}

// Lines behind each other, what comes in front of them and behind them filled. What is joined may write behind its end,
// where what comes next is filled or joined.
template <typename Op, typename T, typename Count>
bool joinEach(const JoinedLines& lines, Count rowCount, T* out) {
  bool hasNan = false;
  const void* const* rows = lines.rows;
  for (size_t line = 0; line < lines.count; ++line, rows += rowCount) {
    fillFew<Op>(out, lines.left);
    hasNan |= joinOf<Op>(rows, rowCount, out + lines.left, lines.width);
    out += lines.left + lines.width;
    fillFew<Op>(out, lines.right);
    out += lines.right;
  }
  std::fill_n(out, kLineSlack, Op::template start<T>());
  return hasNan;
}
template <typename Op, typename T>
bool joinLines(const JoinedLines& lines, void* out) {
  T* const to = static_cast<T*>(out);
  switch (lines.rowCount) {
    case 1: return joinEach<Op>(lines, std::integral_constant<size_t, 1>(), to);
    case 2: return joinEach<Op>(lines, std::integral_constant<size_t, 2>(), to);
    case 3: return joinEach<Op>(lines, std::integral_constant<size_t, 3>(), to);
    default: return joinEach<Op>(lines, lines.rowCount, to);
  }
}

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
