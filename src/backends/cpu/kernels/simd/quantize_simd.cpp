// Loops of quantization, of which the compiler makes vectors for each instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/quantize_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <limits>

#include "backends/cpu/kernels/simd/quantize_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace quantizing {

// Adding and taking away this rounds numbers of up to 51 bits to even; what is larger is clamped before.
constexpr double kRounder = 0x1.8p52;
constexpr double kLargest = 0x1p40;

template <typename T>
HWY_INLINE T quantized(double x, double scale, double zero) {
  const double scaled = x / scale;
  const double bounded = scaled > kLargest ? kLargest : (scaled < -kLargest ? -kLargest : scaled);
  const double value = ((bounded + kRounder) - kRounder) + zero;
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
  const double number = value == value ? value : 0.;
  const double above = number < kLow ? kLow : number;
  return static_cast<T>(static_cast<int32_t>(above > kHigh ? kHigh : above));
}

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

// Vectors of elements with one scale; how many were quantized. Multiplied by the inverse in f32; where that may round
// otherwise than a division in double, which is near the middle between two numbers and where there is no number, in
// double. The product is off by less than 2^-13 where it does not saturate.
template <typename T>
HWY_INLINE size_t quantizeVectors(const float* x, double scale, double zero, T* out, size_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const hn::Rebind<T, decltype(d)> narrow;
  const size_t lanes = hn::Lanes(d);
  const auto inverse = hn::Set(d, 1.f / static_cast<float>(scale));
  const auto offset = hn::Set(di, static_cast<int32_t>(zero));
  const auto clear = hn::Set(d, 0.5f - 0x1p-13f);
  const auto one = [&](size_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, x + i), inverse);
    const auto whole = hn::NearestInt(scaled);
    const auto rest = hn::Abs(hn::Sub(scaled, hn::ConvertTo(d, whole)));
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(rest, clear)))) {
      for (size_t k = i; k < i + lanes; ++k) out[k] = quantized<T>(static_cast<double>(x[k]), scale, zero);
    } else {
      hn::StoreU(hn::DemoteTo(narrow, hn::Add(whole, offset)), narrow, out + i);
    }
  };
  // Four vectors share the question whether all of them are clear.
  constexpr size_t kTogether = 4;
  size_t i = 0;
  for (; i + kTogether * lanes <= count; i += kTogether * lanes) {
    hn::Vec<decltype(di)> whole[kTogether];
    auto isClear = hn::Lt(hn::Zero(d), clear);
#pragma GCC unroll 4
    for (size_t v = 0; v < kTogether; ++v) {
      const auto scaled = hn::Mul(hn::LoadU(d, x + i + v * lanes), inverse);
      whole[v] = hn::NearestInt(scaled);
      isClear = hn::And(isClear, hn::Lt(hn::Abs(hn::Sub(scaled, hn::ConvertTo(d, whole[v]))), clear));
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, isClear))) {
      for (size_t v = 0; v < kTogether; ++v) one(i + v * lanes);
      continue;
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < kTogether; ++v)
      hn::StoreU(hn::DemoteTo(narrow, hn::Add(whole[v], offset)), narrow, out + i + v * lanes);
  }
  for (; i + lanes <= count; i += lanes) one(i);
  return i;
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
    for (size_t i = 0; i < count; ++i) out[i] = quantized<T>(static_cast<double>(x[i]), scales[i], zeros[i]);
    return;
  }
  const double scale = scales[0];
  const double zero = zeros[0];
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (isF32(scale) && scale >= 0x1p-100 && scale <= 0x1p100 && isWhole(zero))
    i = quantizeVectors(x, scale, zero, out, count);
#endif
  for (; i < count; ++i) out[i] = quantized<T>(static_cast<double>(x[i]), scale, zero);
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

}  // namespace quantizing

QuantizeFunctions findQuantize(DataType narrow) {
  switch (narrow) {
    case DataType::kI8: return {quantizing::quantize<int8_t>, quantizing::dequantize<int8_t>};
    case DataType::kU8: return {quantizing::quantize<uint8_t>, quantizing::dequantize<uint8_t>};
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
