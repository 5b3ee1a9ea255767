// Pooling of lines: maxima and sums of windows along contiguous memory, compiled for every SIMD width.
#pragma once

#include <cstddef>

#include "core/dtype.h"

namespace tenon::backends::cpu {

// Elements behind the windows' last one that slide() may read, whatever they are.
constexpr size_t kLineSlack = 256;

struct LineWindow {
  size_t cells = 1;
  size_t step = 1;  // from one cell to the next
};

struct LinePoolFunctions {
  // out[i] joins rows[r][i] of all rows, of which there is at least one; the first may be `out` itself. Whether one of
  // them is NaN, where that matters. Up to kLineSlack elements behind the last one of out may be written.
  bool (*join)(const void* const* rows, size_t rowCount, void* out, size_t count) = nullptr;
  // out[i] joins x[i * stride + k * step] for each cell k of the window; out overlaps nothing. `hasNan`: whether x may
  // have NaN. Sums are multiplied by factors[i] * factor.
  void (*slide)(const void* x, bool hasNan, LineWindow window, size_t stride, void* out, size_t count,
                const float* factors, float factor) = nullptr;
  void (*fill)(void* to, size_t count) = nullptr;  // with what changes no result
};

// Maxima of f32, i32, i8 and u8 (NaN wins), sums of f32; no functions for other types.
LinePoolFunctions linePoolMaximum(DataType type);
LinePoolFunctions linePoolSum();

}  // namespace tenon::backends::cpu
