// What gathers of concatenations are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

constexpr int kMostGatheredParts = 32;

// Counted in units: elements, or packs of those that have one index of the axis.
struct ConcatGatherParameters {
  void* y = nullptr;
  const int32_t* indices = nullptr;
  int64_t threads = 0;
  Divider inner;                // units of one index
  Divider picks;                // indices, or packs of neighbouring ones that a thread takes
  int32_t parts = 0, half = 0;  // half: a power of two, the largest below `parts`
  const void* from[kMostGatheredParts] = {};
  int32_t begin[kMostGatheredParts + 1] = {};  // of a part's first index; begin[parts]: how many there are
};

}  // namespace tenon::backends::cuda
