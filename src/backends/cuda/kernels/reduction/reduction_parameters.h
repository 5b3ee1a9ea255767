// What reductions and running sums are given.
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

constexpr int kCumulativeThreads = 256;
constexpr int kCumulativeItems = 16;  // of a thread
struct CumulativeParameters {
  const void* x = nullptr;
  void* y = nullptr;
  void* sums = nullptr;            // of chunks, where a line has several: [chunks][lines] of the type of sums
  int64_t extent = 0, stride = 0;  // of the axis
  int64_t chunks = 1;
  Space<1> lines;
};

}  // namespace tenon::backends::cuda
