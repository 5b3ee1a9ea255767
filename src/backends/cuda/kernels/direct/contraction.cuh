// What generic convolution, deconvolution and matmul share. The including text defines the types X (operands)
// and A (accumulator: float, or i64 for integers); finish(p, offsets, value) applies the epilogue and gives an element
// of Y.
#pragma once

#include "backends/cuda/kernels/direct/direct_parameters.h"
#include "scalar.cuh"

// Where in the result a thread works.
struct Place {
  i64 n;
  int channel;
  int s[3];
};
__device__ inline Place placeOf(const WindowParameters& p, i64 rest, const int* extent) {
  Place place;
  if (p.channelsInnermost) place.channel = (int)takeIndex(rest, p.channels);
#pragma unroll
  for (int k = 2; k >= 0; --k) place.s[k] = (int)takeIndex(rest, extent[k]);
  if (!p.channelsInnermost) place.channel = (int)takeIndex(rest, p.channels);
  place.n = rest;
  return place;
}
template <int kOperands>
__device__ inline void offsetsOf(const WindowParameters& p, const Place& place, i64* at) {
#pragma unroll
  for (int k = 0; k < kOperands; ++k) {
    at[k] = place.n * p.stride[k][0] + place.channel * p.stride[k][1];
    for (int axis = 0; axis < 3; ++axis) at[k] += place.s[axis] * p.stride[k][axis + 2];
  }
}
