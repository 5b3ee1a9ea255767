// Places of a grid as pixels and weights, and sums of pixels, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/op/grid_sample.h"

namespace tenon::backends::cpu {

constexpr size_t kGridPlaces = 256;

// Of the four pixels around each place: where in a plane, and what it weighs.
struct GridCorners {
  int32_t pixel[4][kGridPlaces];
  float weight[4][kGridPlaces];
};

struct GridSampleFunctions {
  // Of at most kGridPlaces places, x and y of each, in a plane of rows and columns, neither of which is 0.
  void (*locate)(const ops::GridSample& op, const float* grid, size_t count, int32_t rows, int32_t columns,
                 GridCorners& corners) = nullptr;
  // Of the first so many corners (the nearest pixel is the first). What weighs nothing may be an infinity.
  void (*sum)(const float* plane, const GridCorners& corners, size_t taps, size_t count, float* y) = nullptr;
};

GridSampleFunctions gridSampleFunctions();

}  // namespace tenon::backends::cpu
