// What pooling is given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

struct PoolingWindow {
  int32_t small, large, kernel, stride, dilation, before, after;
};
struct PoolingParameters {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t count = 0;
  int32_t channels = 1;
  int32_t channelsInnermost = 0;  // order in which neighbouring threads walk the result: as it lies in memory
  PoolingWindow window[3] = {};
  int64_t xStride[5] = {};  // n, c and three spatial axes
  int64_t yStride[5] = {};
  int32_t exclusive = 0;
  float blend = 0;
  Divider packs;  // of channels
  Divider rows;   // of the result
  Divider columns;
};

}  // namespace tenon::backends::cuda
