// Loops of quantization, of which the compiler makes vectors for each instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/quantize_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <bit>
#include <limits>

#include "backends/cpu/kernels/simd/quantize_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/fp8.inc"
#include "backends/cpu/kernels/simd/minmax.inc"
#include "backends/cpu/kernels/simd/saturation.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace quantizing {

// Adding and taking away this rounds numbers of up to 2^22 to even; what is larger is clamped before, and saturates.
constexpr float kRounder = 0x1.8p23f;
constexpr float kLargest = 0x1p20f;

template <typename T>
HWY_INLINE T quantized(float x, float scale, double zero) {
  const float scaled = x / scale;
  const float bounded = scaled > kLargest ? kLargest : (scaled < -kLargest ? -kLargest : scaled);
  const double value = static_cast<double>((bounded + kRounder) - kRounder) + zero;
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
  const double number = value == value ? value : 0.;
  const double above = number < kLow ? kLow : number;
  return static_cast<T>(static_cast<int32_t>(above > kHigh ? kHigh : above));
}

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

// A vector by division.
template <typename T>
HWY_INLINE void divideVector(const float* HWY_RESTRICT x, float scale, double zero, T* HWY_RESTRICT out) {
  constexpr float kBound = 1024;  // beyond it all saturate, whatever the zero point
  const hn::ScalableTag<float> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const hn::Rebind<T, decltype(d)> narrow;
  const auto scaled = hn::Div(hn::LoadU(d, x), hn::Set(d, scale));
  const auto whole = hn::NearestInt(greater(lesser(scaled, hn::Set(d, kBound)), hn::Set(d, -kBound)));
  const auto moved = hn::Add(whole, hn::Set(di, static_cast<int32_t>(zero)));
  const auto isNumber = hn::RebindMask(di, hn::Eq(scaled, scaled));
  hn::StoreU(hn::DemoteTo(narrow, hn::IfThenElseZero(isNumber, moved)), narrow, out);
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

using namespace saturation;

// Four vectors at a time are multiplied by a little less and a little more than 1 / scale, between which x / scale lies
// before and after it is rounded. Where both come to the same whole number, that is it; else the four are divided, and
// so are numbers below -2^15, of which NaN looks like one here.
template <typename T>
HWY_INLINE size_t multiplyVectors(const float* HWY_RESTRICT x, float scale, double zero, T* HWY_RESTRICT out,
                                  size_t count) {
  constexpr size_t kTogether = 4;
  constexpr float kLess = 1 - 0x1p-22f;
  constexpr float kMore = 1 + 0x1p-22f;
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<int16_t> shorts;
  const hn::ScalableTag<int32_t> words;
  const size_t lanes = hn::Lanes(d);
  const float inverse = 1 / scale;
  const auto less = hn::Set(d, inverse * kLess);
  const auto more = hn::Set(d, inverse * kMore);
  const auto offset = hn::Set(shorts, static_cast<int16_t>(zero));
  const auto least = hn::Set(shorts, int16_t{-32768});
  // Word j of block b is that of vector j: the blocks of a vector come behind each other.
  HWY_ALIGN int32_t order[HWY_LANES(int32_t)];
  const size_t blocks = lanes / 4;
  for (size_t k = 0; k < lanes; ++k) order[k] = static_cast<int32_t>(k % blocks * 4 + k / blocks);
  const auto places = hn::SetTableIndices(words, order);
  size_t i = 0;
  for (; i + kTogether * lanes <= count; i += kTogether * lanes) {
    Words low[kTogether];
    Words high[kTogether];
#pragma GCC unroll 4
    for (size_t k = 0; k < kTogether; ++k) {
      const auto value = hn::LoadU(d, x + i + k * lanes);
      low[k] = nearest(hn::Mul(value, less));
      high[k] = nearest(hn::Mul(value, more));
    }
    const Shorts first = packed(low[0], low[1]);
    const Shorts second = packed(low[2], low[3]);
    const Shorts differ = hn::Or(hn::Xor(first, packed(high[0], high[1])), hn::Xor(second, packed(high[2], high[3])));
    const auto wrong = hn::Or(hn::Ne(differ, hn::Zero(shorts)), hn::Eq(lesser(first, second), least));
    if (hn::AllFalse(shorts, wrong)) {
      const Words bytes = hn::BitCast(words, packed(sumOf(first, offset), sumOf(second, offset), T()));
      hn::StoreU(hn::TableLookupLanes(bytes, places), words, reinterpret_cast<int32_t*>(out + i));
    } else {
      for (size_t k = 0; k < kTogether; ++k) divideVector(x + i + k * lanes, scale, zero, out + i + k * lanes);
    }
  }
  return i;
}

#else

template <typename T>
size_t multiplyVectors(const float*, float, double, T*, size_t) {
  return 0;
}

#endif

// Whole vectors of elements with one scale; how many elements were quantized.
template <typename T>
HWY_INLINE size_t quantizeVectors(const float* HWY_RESTRICT x, float scale, double zero, T* HWY_RESTRICT out,
                                  size_t count) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  const bool multiplies = scale > 0x1p-100f && scale < 0x1p100f;
  size_t i = multiplies ? multiplyVectors(x, scale, zero, out, count) : 0;
  for (; i + lanes <= count; i += lanes) divideVector(x + i, scale, zero, out + i);
  if (i == count || count < lanes) return i;
  divideVector(x + count - lanes, scale, zero, out + count - lanes);  // some of them once more
  return count;
}

#endif

inline bool isF32(double value) { return static_cast<double>(static_cast<float>(value)) == value; }
// Zero points with which sums and differences of small integers are exact in f32.
inline bool isWhole(double zero) {
  return zero >= -256 && zero <= 256 && static_cast<double>(static_cast<int32_t>(zero)) == zero;
}

template <typename T>
void quantize(const float* HWY_RESTRICT x, const double* HWY_RESTRICT scales, const double* HWY_RESTRICT zeros,
              size_t step, void* vo, size_t count) {
  T* HWY_RESTRICT out = static_cast<T*>(vo);
  if (step != 0) {
    for (size_t i = 0; i < count; ++i) out[i] = quantized<T>(x[i], static_cast<float>(scales[i]), zeros[i]);
    return;
  }
  const auto scale = static_cast<float>(scales[0]);
  const double zero = zeros[0];
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (isWhole(zero)) i = quantizeVectors(x, scale, zero, out, count);
#endif
  for (; i < count; ++i) out[i] = quantized<T>(x[i], scale, zero);
}

template <typename T>
void dequantize(const void* vx, const double* HWY_RESTRICT scales, const double* HWY_RESTRICT zeros, size_t step,
                float* HWY_RESTRICT out, size_t count) {
  const T* HWY_RESTRICT x = static_cast<const T*>(vx);
  if (step != 0) {
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>((static_cast<double>(x[i]) - zeros[i]) * scales[i]);
    return;
  }
  const double scale = scales[0];
  const double zero = zeros[0];
  if (sizeof(T) == 1 && isF32(scale) && isWhole(zero)) {  // one rounding, as in double
    const auto scale32 = static_cast<float>(scale);
    const auto zero32 = static_cast<float>(zero);
    for (size_t i = 0; i < count; ++i) out[i] = (static_cast<float>(x[i]) - zero32) * scale32;
    return;
  }
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>((static_cast<double>(x[i]) - zero) * scale);
}

// Of 8-bit floats, which are not rounded to whole numbers; their zero points are few, and computed in double.
void quantizeFp8(const float* HWY_RESTRICT x, const double* HWY_RESTRICT scales, const double* HWY_RESTRICT zeros,
                 size_t step, void* vo, size_t count) {
  auto* HWY_RESTRICT out = static_cast<uint8_t*>(vo);
  bool hasZeros = false;
  for (size_t i = 0; i < (step == 0 ? 1 : count); ++i) hasZeros = hasZeros || zeros[i] != 0;
  if (hasZeros) {
    for (size_t i = 0; i < count; ++i) {
      const auto scaled = static_cast<double>(x[i] / static_cast<float>(scales[i * step]));
      storeDouble(DataType::kF8E4M3, out, static_cast<int64_t>(i), scaled + zeros[i * step]);
    }
  } else if (step != 0) {
    for (size_t i = 0; i < count; ++i) out[i] = fp8::fromFloat(x[i] / static_cast<float>(scales[i]));
  } else {
    const auto scale = static_cast<float>(scales[0]);
    for (size_t i = 0; i < count; ++i) out[i] = fp8::fromFloat(x[i] / scale);
  }
}

void dequantizeFp8(const void* vx, const double* HWY_RESTRICT scales, const double* HWY_RESTRICT zeros, size_t step,
                   float* HWY_RESTRICT out, size_t count) {
  const auto* HWY_RESTRICT x = static_cast<const uint8_t*>(vx);
  if (step == 0 && zeros[0] == 0 && isF32(scales[0])) {  // one rounding, as in double
    const auto scale = static_cast<float>(scales[0]);
    for (size_t i = 0; i < count; ++i) out[i] = fp8::toFloat(x[i]) * scale;
    return;
  }
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<float>((static_cast<double>(fp8::toFloat(x[i])) - zeros[i * step]) * scales[i * step]);
}

}  // namespace quantizing

QuantizeFunctions findQuantize(DataType narrow) {
  switch (narrow) {
    case DataType::kI8: return {quantizing::quantize<int8_t>, quantizing::dequantize<int8_t>};
    case DataType::kU8: return {quantizing::quantize<uint8_t>, quantizing::dequantize<uint8_t>};
    case DataType::kF8E4M3: return {quantizing::quantizeFp8, quantizing::dequantizeFp8};
    case DataType::kI32: return {nullptr, quantizing::dequantize<int32_t>};
    default: return {};
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findQuantize);

}  // namespace

QuantizeFunctions quantizeFunctions(DataType narrow) { return TENON_SIMD_BEST(findQuantize)(narrow); }

}  // namespace tenon::backends::cpu
#endif
