// What reductions, running sums and TopK are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

struct ReduceParameters {
  const void* x = nullptr;
  void* y = nullptr;
  void* partial = nullptr;  // [splits][outputs] of the type of sums, where there is more than one split
  int64_t perSplit = 0;     // reduced elements of one split
  int64_t splits = 1;
  int64_t total = 0;    // reduced elements in all
  Space<2> kept;        // y, x
  Space<1> reduced;     // x
  int32_t columns = 1;  // of a block: packs of neighbouring outputs, or whole outputs
};
constexpr int kSegmentElements = 4096;  // in shared memory: those of outputs that a block takes several of

constexpr int kMaxReducedInputs = 8;
constexpr int kReducedOperands = kMaxReducedInputs + 1;
// Reductions of values that are computed from several inputs.
struct PointwiseReduceParameters {
  const void* x[kMaxReducedInputs] = {};
  void* y = nullptr;
  float* partial = nullptr;  // [splits][outputs], where there is more than one split
  int64_t perSplit = 0;      // reduced values of one split
  int64_t splits = 1;
  int64_t total = 0;                // reduced values in all
  Space<kReducedOperands> kept;     // y, then x
  Space<kReducedOperands> reduced;  // unused, then x
};

struct CumulativeParameters {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t extent = 0, stride = 0;  // of the axis
  Space<1> lines;
};

struct TopKParameters {
  const void* x = nullptr;
  void* values = nullptr;
  void* indices = nullptr;
  int64_t extent = 0, k = 0;
  int64_t xStride = 0, yStride = 0;  // along the axis
  Space<2> lines;                    // y, x
};
constexpr int kMostSelected = 1024;  // k up to which a block selects by digits of keys

}  // namespace tenon::backends::cuda
