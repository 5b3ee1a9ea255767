// What convolutions of images of few channels are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

struct ImageParameters {
  const void* x = nullptr;
  const void* w = nullptr;        // as ImageForm::pack() lays them out, pairs of words
  const void* bias = nullptr;     // or null
  void* data[1] = {};             // y, channels-last
  int32_t height = 0, width = 0;  // of x
  int32_t rows = 0, columns = 0;  // of y
  int32_t outputs = 0;            // channels of y, a multiple of 8
  int32_t top = 0, left = 0;      // zeros in front; `left` is even
  int32_t pairs = 0;              // neighbouring columns of x can be read at once
  int32_t tiles = 0;              // of all images
  Divider across, down;           // tiles of a row of tiles, of an image's column
  int64_t image = 0;              // strides of x
  int32_t channel = 0, line = 0;
};
// Where a maximum of the result's windows follows: y is that.
struct ImagePoolingParameters : ImageParameters {
  int32_t pooledRows = 0, pooledColumns = 0;
  int32_t poolTop = 0, poolLeft = 0;  // cells in front
  int32_t tilesOfBlock = 0;           // behind each other; down an image, then the next columns
};
constexpr int kImagePoolStride = 2;
constexpr int kImageTileRows = 8;  // places of y that a block computes
constexpr int kImageTileColumns = 16;
constexpr int kImageThreads = 128;   // warps of two rows of places
constexpr int kFloatImageGroup = 2;  // parts of 8 channels of which a lane has neighbours
constexpr int kImageGroupParts = 8;  // of 8 channels, of blocks that multiply as warpgroups

}  // namespace tenon::backends::cuda
