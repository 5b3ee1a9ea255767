// The extents of depthwise convolutions along one axis (depthwise_line.cuh).
#pragma once

namespace tenon::backends::cuda {

constexpr int kLineChannels = 32;  // of a block
constexpr int kLineWarps = 8;
constexpr int kLinePlaces = 16;  // of a warp
constexpr int kLineTaps = 32;    // of a warp in a stage

}  // namespace tenon::backends::cuda
