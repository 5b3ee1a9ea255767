// Depthwise sums of windows three or five wide along a row of a channels-last image, compiled for every SIMD width.
#pragma once

#include <array>
#include <cstdint>

namespace tenon::backends::cpu {

// out[p][c] = clamp(bend(bias[c] + sum over r, s of line[r][first + p * stride + s][c] * w[r][s][c])) for pixels p of a
// run, where columns outside [0, columns) count as zeros. The order of a sum does not depend on the run.
struct DepthwiseRows {
  std::array<const float*, 5> lines{};  // of the image, as many as the window has
  std::array<int64_t, 5> steps{};       // floats from column to column; 0 where a line is zeros
  int64_t windowLines = 5;              // of windows three wide 1 or 3, of others up to 5
  int64_t firstLine = 0, endLine = 5;   // those between are in the image; windows five wide read no others
  int64_t first = 0, columns = 0;
  int64_t pixels = 0;
  int64_t channels = 0;
  const float* panels = nullptr;  // [panel][tap][column], two vectors wide
  const float* bias = nullptr;    // whole panels, or null
  float low = 0, high = 0;
  bool bends = false;             // what is below zero is multiplied by a slope
  const float* slopes = nullptr;  // of the channels; null: `slope`
  float slope = 0;
  float* out = nullptr;
  int64_t outStep = 0;
};

using DepthwiseRowsFunction = void (*)(const DepthwiseRows& call);
// By the width of the window, 3 or 5, and the stride, 1 or 2.
DepthwiseRowsFunction depthwiseRowsFunction(int64_t width, int64_t stride);

}  // namespace tenon::backends::cpu
