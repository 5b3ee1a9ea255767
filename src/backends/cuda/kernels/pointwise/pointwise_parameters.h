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

}  // namespace tenon::backends::cuda
