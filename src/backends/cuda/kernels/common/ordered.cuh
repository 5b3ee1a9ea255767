// Elements that are kept, in the order in which they stand.
#pragma once

#include "prelude.cuh"

// How many of the threads in front of this one hold; `total` becomes how many of the block do. All threads of a block
// of whole warps take part. `shared` has 32 entries.
__device__ inline unsigned placeAmong(bool holds, unsigned* shared, unsigned& total) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const unsigned votes = votesOf(holds);
  __syncthreads();  // a former use of `shared` may still read it
  if (lane == 0) shared[warp] = countBits(votes);
  __syncthreads();
  unsigned before = 0;
  total = 0;
  for (int k = 0; k < (int)blockDim.x / 32; ++k) {
    if (k < warp) before += shared[k];
    total += shared[k];
  }
  return before + countBits(votes & ((1u << lane) - 1));
}
