// What contractions by own code are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

constexpr int kMaxDirectOperands = 16;  // the result and the epilogue's inputs

// An axis of a convolution: extents of its two sides, of the kernel, and how windows lie.
struct DirectWindow {
  int32_t small, large, kernel, stride, dilation, before;
};
// What a block of depthwise_rows.cuh or depthwise_strips.cuh takes, and how many there are of it.
struct DepthwiseTile {
  int32_t channels = 0, strips = 0, rows = 0;
  int32_t channelTiles = 0, columnTiles = 0, heights = 0;
};
struct WindowParameters {
  void* data[kMaxDirectOperands] = {};  // y, x1.. of the epilogue
  const void* x = nullptr;
  const void* w = nullptr;
  const void* bias = nullptr;  // or null
  int64_t count = 0;
  int32_t channels = 1;           // of the result
  int32_t channelsInnermost = 0;  // order in which neighbouring threads walk the result
  int32_t groupInputs = 1, groupOutputs = 1;
  DirectWindow window[3] = {};
  int64_t xStride[5] = {};  // n, c and three spatial axes
  int64_t wStride[5] = {};
  int64_t stride[kMaxDirectOperands][5] = {};  // of data
  DepthwiseTile tile;
};

struct MatMulParameters {
  void* data[kMaxDirectOperands] = {};  // y, x1.. of the epilogue
  const void* a = nullptr;
  const void* b = nullptr;
  int64_t rows = 0, columns = 0, inner = 0;
  int64_t aRow = 0, aInner = 0, bInner = 0, bColumn = 0;  // strides
  Divider tilesM, tilesN;
  Space<2> batch;                                     // a, b
  int64_t yBatch = 0;                                 // elements of one product
  int64_t stride[kMaxDirectOperands][kMaxAxes] = {};  // of data, over the axes of the result
  int64_t extent[kMaxAxes] = {};
  int32_t rank = 2;
};
constexpr int kMatMulTile = 32;  // rows and columns of the result that a block computes

}  // namespace tenon::backends::cuda
