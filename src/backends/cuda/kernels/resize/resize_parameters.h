// What interpolation is given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

constexpr int kTapAxes = 3;    // that may change
constexpr int kResizeRun = 4;  // neighbours of a thread along an innermost axis that changes

constexpr int kResizeRows = 8;  // of a thread that goes down rows

struct ResizeTap {
  int32_t index;
  float weight;
};
struct ResizeParameters {
  const void* x = nullptr;
  void* y = nullptr;
  int32_t rank = 0;
  int64_t count = 0;
  int64_t extent[kMaxAxes] = {};   // of the result, in the order in which it lies in memory
  int64_t xStride[kMaxAxes] = {};  // 0 for axes with taps
  int64_t yStride[kMaxAxes] = {};
  int32_t tapAxis[kMaxAxes] = {};        // which of those below the axis is, or -1
  const ResizeTap* taps[kTapAxes] = {};  // [extent][tapCount]
  int32_t tapCount[kTapAxes] = {};
  int64_t tapStride[kTapAxes] = {};  // of x along the axis
  // For pairs of taps, where 32 bits count all threads.
  Divider divider[kMaxAxes];  // of the extents, the innermost one in runs or packs, that of rows in runs
  int64_t threads = 0;
  int32_t wholeRuns = 0;  // every run can be written as one
};

}  // namespace tenon::backends::cuda
