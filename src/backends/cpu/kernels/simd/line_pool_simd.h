// Pooling of lines: maxima and sums of windows along contiguous memory, compiled for every SIMD width.
#pragma once

#include <cstddef>

#include "core/dtype.h"

namespace tenon::backends::cpu {

struct LinePoolFunctions {
  // acc[i] joins x[i]
  void (*add)(const void* x, void* acc, size_t count) = nullptr;
  // out[i] joins x[i * stride] to x[i * stride + window - 1]; out overlaps nothing
  void (*slide)(const void* x, size_t window, size_t stride, void* out, size_t count) = nullptr;
  void (*fill)(void* to, size_t count) = nullptr;  // with what changes no result
};

// Maxima of f32, i32, i8 and u8 (NaN wins), sums of f32; no functions for other types.
LinePoolFunctions linePoolMaximum(DataType type);
LinePoolFunctions linePoolSum();

}  // namespace tenon::backends::cpu
