// Quantization and its inverse over arrays, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace tenon::backends::cpu {

// Element i has scales[i] and zeros[i], or all have the first ones where `step` is 0.
struct QuantizeFunctions {
  // i8 or u8 from f32: saturate(round_half_even(x / scale) + zero), divided in f32
  void (*quantize)(const float* x, const double* scales, const double* zeros, size_t step, void* out,
                   size_t count) = nullptr;
  // f32 from i8, u8 or i32: (x - zero) * scale, in double
  void (*dequantize)(const void* x, const double* scales, const double* zeros, size_t step, float* out,
                     size_t count) = nullptr;
};

// Of the narrow type; what it lacks is null.
QuantizeFunctions quantizeFunctions(DataType narrow);

}  // namespace tenon::backends::cpu
