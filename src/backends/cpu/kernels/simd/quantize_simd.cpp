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

// Whole vectors of elements with one scale; how many were quantized. Four vectors are multiplied by 1 / scale, and
// divided only where a product is so close to a half that the quotient may be rounded to another number: it differs
// from the product by at most 3 * 2^-24 of it, and beyond kBound all are bounded alike.
template <typename T>
HWY_INLINE size_t quantizeVectors(const float* HWY_RESTRICT x, float scale, double zero, T* HWY_RESTRICT out,
                                  size_t count) {
  constexpr float kBound = 1024;
  constexpr float kClear = 0.5f - kBound * 0x1p-22f;
  constexpr size_t kTogether = 4;
  const hn::ScalableTag<float> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const hn::Rebind<T, decltype(d)> narrow;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const float inverse = 1 / scale;
  const bool multiplies = scale > 0x1p-100f && scale < 0x1p100f;
  const V divisor = hn::Set(d, scale);
  const V factor = hn::Set(d, inverse);
  const V largest = hn::Set(d, kBound);
  const V least = hn::Set(d, -kBound);
  const auto offset = hn::Set(di, static_cast<int32_t>(zero));
  const auto bounded = [&](V v) HWY_ATTR { return hn::Max(hn::Min(v, largest), least); };
  const auto store = [&](V scaled, hn::Vec<decltype(di)> whole, size_t i) HWY_ATTR {
    const auto isNumber = hn::RebindMask(di, hn::Eq(scaled, scaled));
    hn::StoreU(hn::DemoteTo(narrow, hn::IfThenElseZero(isNumber, hn::Add(whole, offset))), narrow, out + i);
  };
  const auto divide = [&](size_t i) HWY_ATTR {
    const V scaled = hn::Div(hn::LoadU(d, x + i), divisor);
    store(scaled, hn::NearestInt(bounded(scaled)), i);
  };
  size_t i = 0;
  for (; multiplies && i + kTogether * lanes <= count; i += kTogether * lanes) {
    V scaled[kTogether];
    hn::Vec<decltype(di)> whole[kTogether];
    V furthest = hn::Zero(d);
    for (size_t k = 0; k < kTogether; ++k) {
      scaled[k] = hn::Mul(hn::LoadU(d, x + i + k * lanes), factor);
      const V value = bounded(scaled[k]);
      whole[k] = hn::NearestInt(value);
      furthest = hn::Max(furthest, hn::Abs(hn::Sub(value, hn::ConvertTo(d, whole[k]))));
    }
    if (hn::AllTrue(d, hn::Lt(furthest, hn::Set(d, kClear)))) {
      for (size_t k = 0; k < kTogether; ++k) store(scaled[k], whole[k], i + k * lanes);
    } else {
      for (size_t k = 0; k < kTogether; ++k) divide(i + k * lanes);
    }
  }
  for (; i + lanes <= count; i += lanes) divide(i);
  if (i == count || count < lanes) return i;
  divide(count - lanes);  // some of them once more
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
