// Pooling of lines: maxima and sums of windows along contiguous memory, compiled for every SIMD width.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/dtype.h"

namespace tenon::backends::cpu {

// Elements behind the windows' last one that slide() may read, whatever they are.
constexpr size_t kLineSlack = 256;

struct LineWindow {
  size_t cells = 1;
  size_t step = 1;  // from one cell to the next
};

// Lines of windows' rows, joined to lines of left + width + right elements behind each other.
struct JoinedLines {
  const void* const* rows = nullptr;  // rowCount of each line
  size_t rowCount = 1;
  size_t count = 0;
  size_t left = 0, width = 0, right = 0;
};

// Lines over which a window slides, `pitch` elements apart, to `count` results each, behind each other.
struct SlidLines {
  LineWindow window;
  size_t stride = 1;
  size_t pitch = 0;
  size_t lines = 1;
  size_t count = 0;
  // Sums are multiplied by factors[i] * lineFactors[line]; whole vectors of factors are read.
  const float* factors = nullptr;
  const float* lineFactors = nullptr;
};

struct LinePoolFunctions {
  // out[i] joins rows[r][i] of all rows, of which there is at least one; the first may be `out` itself. Whether one of
  // them is NaN, where that matters. Up to kLineSlack elements behind the last one of out may be written.
  bool (*join)(const void* const* rows, size_t rowCount, void* out, size_t count) = nullptr;
  // The same of several lines, with kLineSlack elements behind them.
  bool (*joinLines)(const JoinedLines& lines, void* out) = nullptr;
  // out[i] joins x[i * stride + k * step] for each cell k of the window; out overlaps nothing. `hasNan`: whether x may
  // have NaN.
  void (*slide)(const void* x, bool hasNan, const SlidLines& lines, void* out) = nullptr;
  void (*fill)(void* to, size_t count) = nullptr;  // with what changes no result
};

// Maxima of f32, i32, i8 and u8 (NaN wins), and of halves in the order below, sums of f32; no functions for other
// types.
LinePoolFunctions linePoolMaximum(DataType type);
// Halves as numbers of 16 bits of the same order, and back.
struct HalfOrder {
  VectorFunction to = nullptr, from = nullptr;
};
HalfOrder halfOrder(DataType type);
LinePoolFunctions linePoolSum();

}  // namespace tenon::backends::cpu
