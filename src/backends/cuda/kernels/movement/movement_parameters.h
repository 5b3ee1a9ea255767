// What copies, fills, slices and shapes are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

constexpr int kCopiesOfThread = 4;  // loads in flight

struct CopyParameters {
  void* to = nullptr;
  const void* from = nullptr;
  Space<2> space;  // to, from
};

// The target walks axis a, the source axis b; other axes are in `space`.
struct TileParameters {
  void* to = nullptr;
  const void* from = nullptr;
  int64_t a = 0, b = 0;        // extents
  int64_t toB = 0, fromA = 0;  // strides; those of the own axis are 1
  Divider tilesA;
  Divider tilesB;
  Space<2> space;
};

// Rows of halves as f32. Rows of the target may begin anywhere: neighbouring threads write neighbouring elements.
struct WidenParameters {
  float* to = nullptr;
  const void* from = nullptr;
  int64_t rows = 0, columns = 0, toPitch = 0;
};
constexpr int kWidenedOfThread = 8;  // in each row

// Every element of `to` becomes the one at `value`, or zero bits without it.
struct ValueParameters {
  void* to = nullptr;
  const void* value = nullptr;
  int64_t count = 0;
};

// Tensors linear in the index.
struct FillParameters {
  void* y = nullptr;
  const void* start = nullptr;   // GIVEN
  const void* deltas = nullptr;  // GIVEN, or null
  int64_t count = 0;
  int32_t rank = 0;
  int64_t extent[kMaxAxes] = {};
  double real[kMaxAxes + 1] = {};  // deltas, then start
  int64_t integer[kMaxAxes + 1] = {};
};

struct ShapeParameters {
  int64_t* y = nullptr;
  int64_t rank = 0;
  int64_t extent[kMaxAxes] = {};
};

// Slices that read around the edges of the input.
struct SliceAroundParameters {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t count = 0;
  int32_t rank = 0;
  int64_t extent[kMaxAxes] = {};  // of the result, in the order in which it lies in memory
  int64_t yStride[kMaxAxes] = {};
  int64_t start[kMaxAxes] = {};
  int64_t step[kMaxAxes] = {};
  int64_t n[kMaxAxes] = {};  // of the input
  int64_t xStride[kMaxAxes] = {};
};

}  // namespace tenon::backends::cuda
