// How elements are divided into blocks whose counts are known before anything is written.
#pragma once

#include <algorithm>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/selection/selection_parameters.h"

namespace tenon::backends::cuda {

// Returns the bytes of workspace, which are the counts. So many blocks at most that each can add up those in front of
// it.
inline size_t configureNonZero(NonZeroParameters& parameters, const Dims& x) {
  constexpr int64_t kMostBlocks = 2048;
  constexpr int64_t kLeastTiles = 2;  // of a block
  const auto divided = [](int64_t n, int64_t by) { return (n + by - 1) / by; };
  parameters.count = x.count();
  parameters.rank = x.rank;
  for (int axis = 0; axis < x.rank; ++axis) parameters.extent[axis] = x[axis];
  const int64_t tiles = divided(parameters.count, kNonZeroTile);
  parameters.perBlock = std::max(kLeastTiles, divided(tiles, kMostBlocks)) * kNonZeroTile;
  parameters.blocks = divided(parameters.count, parameters.perBlock);
  return static_cast<size_t>(parameters.blocks) * sizeof(int64_t);
}

inline void countNonZero(CUfunction function, NonZeroParameters& parameters,
                         const runtime::LaunchArguments& arguments) {
  parameters.x = arguments.inputs[0];
  parameters.y = arguments.outputs[0];
  parameters.counts = static_cast<int64_t*>(arguments.workspace);
  launchThreads(function, parameters.blocks * kNonZeroThreads, &parameters, arguments.stream, kNonZeroThreads);
}

}  // namespace tenon::backends::cuda
