// What generated pointwise code is given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

constexpr int kMaxOperands = 12;  // inputs of a generated kernel

// The outputs are the first operands. A kernel knows the space of the operands that it has, a launch that of all there
// may be, of which it passes the beginning.
template <int kOperands>
struct PointwiseParameters {
  void* data[kMaxOperands + 1] = {};
  int64_t tail = 0;  // elements behind the last whole pack, in a space of one axis
  Space<kOperands> space;
};
using PointwiseLaunch = PointwiseParameters<kMaxOperands + 1>;

// Matrices one behind another, a rows of b elements, which become b rows of a elements.
struct TurnedParameters {
  void* y = nullptr;
  const void* x = nullptr;
  int64_t a = 0, b = 0;
  Divider tilesA, tilesB;
  int32_t xInPacks = 0, yInPacks = 0;  // of kTurnedPack elements
};
constexpr int kTurnedTile = 64;  // rows and columns of a block
constexpr int kTurnedPack = 4;

}  // namespace tenon::backends::cuda
