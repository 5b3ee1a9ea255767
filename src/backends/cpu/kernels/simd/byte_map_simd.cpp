// Tables and formulas of bytes. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/byte_map_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cmath>
#include <cstring>

#include "backends/cpu/kernels/simd/byte_map_simd.h"
#include "core/platform/processor.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/saturation.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace byte_map {

namespace hn = hwy::HWY_NAMESPACE;

void lookUp(const uint8_t* table, const uint8_t* from, uint8_t* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = table[from[i]];
}

#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX3

#define TENON_VBMI __attribute__((target("avx512vbmi")))

// 64 values at once: two tables of 128 values each, whose places are the low 7 bits, and one of both by the high one.
TENON_VBMI void lookUpVectors(const uint8_t* table, const uint8_t* from, uint8_t* to, size_t count) {
  constexpr size_t kBytes = 64;
  __m512i part[4];
  for (size_t i = 0; i < 4; ++i) part[i] = _mm512_loadu_si512(table + kBytes * i);
  for (size_t i = 0; i < count; i += kBytes) {
    const size_t rest = count - i;
    const __mmask64 mask = rest >= kBytes ? ~__mmask64{0} : (__mmask64{1} << rest) - 1;
    const __m512i x = _mm512_maskz_loadu_epi8(mask, from + i);
    const __m512i low = _mm512_permutex2var_epi8(part[0], x, part[1]);
    const __m512i high = _mm512_permutex2var_epi8(part[2], x, part[3]);
    _mm512_mask_storeu_epi8(to + i, mask, _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high));
  }
}
#undef TENON_VBMI

auto bestLookUp() { return platform::hasByteTables() ? lookUpVectors : lookUp; }

#else

auto bestLookUp() { return &lookUp; }

#endif

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

using namespace saturation;

using Reals = hn::Vec<hn::ScalableTag<float>>;

struct Wide {
  Reals parts[4];
};

HWY_INLINE Wide widened(Bytes x) {
  const hn::ScalableTag<uint8_t> bytes;
  const hn::ScalableTag<uint16_t> shorts;
  const hn::ScalableTag<int32_t> words;
  const hn::ScalableTag<float> reals;
  const auto none = hn::Zero(bytes);
  const auto low = hn::BitCast(shorts, hn::InterleaveLower(bytes, x, none));
  const auto high = hn::BitCast(shorts, hn::InterleaveUpper(bytes, x, none));
  const auto zero = hn::Zero(shorts);
  const auto real = [&](auto part) HWY_ATTR { return hn::ConvertTo(reals, hn::BitCast(words, part)); };
  return {{real(hn::InterleaveLower(shorts, low, zero)), real(hn::InterleaveUpper(shorts, low, zero)),
           real(hn::InterleaveLower(shorts, high, zero)), real(hn::InterleaveUpper(shorts, high, zero))}};
}

// What of a formula is the same for all elements.
template <bool kProduct, bool kExact>
struct Numbers {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<int16_t> shorts;
  Reals zeros[2], scales[2], divisor, reciprocal, added;
  Shorts zero;
  bool givesSigned;

  explicit HWY_INLINE Numbers(const ByteFormula& f)
      : zeros{hn::Set(d, f.zeros[0]), hn::Set(d, f.zeros[1])},
        scales{hn::Set(d, f.scales[0]), hn::Set(d, f.scales[1])},
        divisor(hn::Set(d, f.divisor)),
        reciprocal(hn::Set(d, 1 / f.divisor)),
        added(hn::Zero(d)),
        zero(hn::Set(shorts, static_cast<int16_t>(f.zero))),
        givesSigned(f.givesSigned) {
    if constexpr (kExact) return;
    const double scale[2] = {f.scales[0], f.scales[1]};
    zero = hn::Zero(shorts);
    if constexpr (kProduct) {
      scales[0] = hn::Set(d, static_cast<float>(scale[0] * scale[1] / f.divisor));
      added = hn::Set(d, static_cast<float>(f.zero));
    } else {
      double offset = f.zero;
      for (int i = 0; i < 2; ++i) {
        scales[i] = hn::Set(d, static_cast<float>(scale[i] / f.divisor));
        offset -= scale[i] / f.divisor * f.zeros[i];
      }
      added = hn::Set(d, static_cast<float>(offset));
    }
  }

  HWY_INLINE Words operator()(Reals a, Reals b) const {
    if constexpr (kExact) {
      const auto first = hn::Mul(hn::Sub(a, zeros[0]), scales[0]);
      const auto second = hn::Mul(hn::Sub(b, zeros[1]), scales[1]);
      const auto real = kProduct ? hn::Mul(first, second) : hn::Add(first, second);
      const auto near = hn::Mul(real, reciprocal);  // a step of Newton's makes it the quotient
      return nearest(hn::MulAdd(hn::NegMulAdd(near, divisor, real), reciprocal, near));
    } else if constexpr (kProduct) {
      return nearest(hn::MulAdd(hn::Mul(hn::Sub(a, zeros[0]), hn::Sub(b, zeros[1])), scales[0], added));
    } else {
      return nearest(hn::MulAdd(a, scales[0], hn::MulAdd(b, scales[1], added)));
    }
  }

  HWY_INLINE Bytes operator()(Bytes a, Bytes b) const {
    const Wide left = widened(a);
    const Wide right = widened(b);
    const auto part = [&](int i) HWY_ATTR { return (*this)(left.parts[i], right.parts[i]); };
    const auto low = sumOf(packed(part(0), part(1)), zero);
    const auto high = sumOf(packed(part(2), part(3)), zero);
    return givesSigned ? packed(low, high, int8_t()) : packed(low, high, uint8_t());
  }
};

template <bool kProduct, bool kExact>
void computeVectors(const ByteFormula& f, const uint8_t* a, const uint8_t* b, uint8_t* to, size_t count) {
  const hn::ScalableTag<uint8_t> bytes;
  const Numbers<kProduct, kExact> numbers(f);
  const auto signA = hn::Set(bytes, static_cast<uint8_t>(f.isSigned[0] ? 0x80 : 0));
  const auto signB = hn::Set(bytes, static_cast<uint8_t>(f.isSigned[1] ? 0x80 : 0));
  constexpr size_t kLanes = HWY_LANES(uint8_t);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(numbers(hn::Xor(hn::LoadU(bytes, a + i), signA), hn::Xor(hn::LoadU(bytes, b + i), signB)), bytes,
               to + i);
  if (i == count) return;
  HWY_ALIGN uint8_t last[3][kLanes] = {};
  std::memcpy(last[0], a + i, count - i);
  std::memcpy(last[1], b + i, count - i);
  const auto result = numbers(hn::Xor(hn::Load(bytes, last[0]), signA), hn::Xor(hn::Load(bytes, last[1]), signB));
  hn::Store(result, bytes, last[2]);
  std::memcpy(to + i, last[2], count - i);
}

void compute(const ByteFormula& f, const uint8_t* a, const uint8_t* b, uint8_t* to, size_t count) {
  if (f.isProduct)
    return f.isExact ? computeVectors<true, true>(f, a, b, to, count) : computeVectors<true, false>(f, a, b, to, count);
  return f.isExact ? computeVectors<false, true>(f, a, b, to, count) : computeVectors<false, false>(f, a, b, to, count);
}

#else

inline uint8_t scalarValue(const ByteFormula& f, uint8_t a, uint8_t b) {
  const int x[2] = {a ^ (f.isSigned[0] ? 0x80 : 0), b ^ (f.isSigned[1] ? 0x80 : 0)};
  const float first = (static_cast<float>(x[0]) - f.zeros[0]) * f.scales[0];
  const float second = (static_cast<float>(x[1]) - f.zeros[1]) * f.scales[1];
  const float real = (f.isProduct ? first * second : first + second) / f.divisor;
  constexpr float kBound = 1024;  // beyond it all results saturate, whatever the zero point
  const float bounded = real < kBound ? (real > -kBound ? real : -kBound) : kBound;
  const int value = static_cast<int>(std::nearbyint(bounded)) + f.zero;
  const int low = f.givesSigned ? -128 : 0;
  return static_cast<uint8_t>(value < low ? low : value > low + 255 ? low + 255 : value);
}

void compute(const ByteFormula& f, const uint8_t* a, const uint8_t* b, uint8_t* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = scalarValue(f, a[i], b[i]);
}

#endif

uint64_t sum(const uint8_t* x, size_t count, uint8_t sign) {
  uint64_t result = 0;
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> bytes;
  const hn::Repartition<uint64_t, decltype(bytes)> wide;
  const size_t lanes = hn::Lanes(bytes);
  const auto signs = hn::Set(bytes, sign);
  auto sums = hn::Zero(wide);
  for (; i + lanes <= count; i += lanes) sums = hn::Add(sums, hn::SumsOf8(hn::Xor(hn::LoadU(bytes, x + i), signs)));
  result = hn::GetLane(hn::SumOfLanes(wide, sums));
#endif
  for (; i < count; ++i) result += static_cast<uint8_t>(x[i] ^ sign);
  return result;
}

void addRows(const uint8_t* x, size_t rows, size_t step, size_t width, uint8_t sign, uint64_t* sums) {
  uint16_t narrow[kByteColumns] = {};
  if (width == kByteColumns) {
    for (size_t row = 0; row < rows; ++row, x += step) {
      for (size_t i = 0; i < kByteColumns; ++i) narrow[i] = static_cast<uint16_t>(narrow[i] + (x[i] ^ sign));
    }
  } else {
    for (size_t row = 0; row < rows; ++row, x += step) {
      for (size_t i = 0; i < width; ++i) narrow[i] = static_cast<uint16_t>(narrow[i] + (x[i] ^ sign));
    }
  }
  for (size_t i = 0; i < width; ++i) sums[i] += narrow[i];
}

}  // namespace byte_map

ByteMaps findByteMaps() { return {byte_map::bestLookUp(), byte_map::compute, byte_map::sum, byte_map::addRows}; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findByteMaps);

}  // namespace

const ByteMaps& byteMaps() {
  static const ByteMaps kMaps = TENON_SIMD_BEST(findByteMaps)();
  return kMaps;
}

}  // namespace tenon::backends::cpu
#endif
