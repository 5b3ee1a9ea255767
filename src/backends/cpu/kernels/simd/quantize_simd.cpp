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

template <typename T>
void quantize(const float* HWY_RESTRICT x, const double* HWY_RESTRICT scales, const double* HWY_RESTRICT zeros,
              size_t step, void* vo, size_t count) {
  T* HWY_RESTRICT out = static_cast<T*>(vo);
  if (step == 0) {
    const double scale = scales[0];
    const double zero = zeros[0];
    for (size_t i = 0; i < count; ++i) out[i] = quantized<T>(static_cast<double>(x[i]), scale, zero);
    return;
  }
  for (size_t i = 0; i < count; ++i) out[i] = quantized<T>(static_cast<double>(x[i]), scales[i], zeros[i]);
}

template <typename T>
void dequantize(const void* vx, const double* HWY_RESTRICT scales, const double* HWY_RESTRICT zeros, size_t step,
                float* HWY_RESTRICT out, size_t count) {
  const T* HWY_RESTRICT x = static_cast<const T*>(vx);
  if (step == 0) {
    const double scale = scales[0];
    const double zero = zeros[0];
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>((static_cast<double>(x[i]) - zero) * scale);
    return;
  }
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>((static_cast<double>(x[i]) - zeros[i]) * scales[i]);
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
