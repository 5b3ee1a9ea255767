// The extents of a tensor, which the host knows.
#include "backends/cuda/kernels/movement/movement_parameters.h"
#include "prelude.cuh"

KERNEL(tenon_shape, ShapeParameters) {
  if (threadIdx.x < p.rank) p.y[threadIdx.x] = p.extent[threadIdx.x];
}
