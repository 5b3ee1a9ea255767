// How many elements of each block are not zero. X: type of the elements.
#pragma once

#include "backends/cuda/kernels/selection/selection_parameters.h"
#include "prelude.cuh"

__device__ bool isNonZero(const NonZeroParameters& p, i64 i) { return load<X>(p.x, i) != ComputeOf<X>(0); }

__device__ i64 endOf(const NonZeroParameters& p, i64 first) {
  return first + p.perBlock < p.count ? first + p.perBlock : p.count;
}

KERNEL(tenon_nonzero_count, NonZeroParameters) {
  __shared__ i64 shared[32];
  const i64 first = blockIdx.x * p.perBlock;
  const i64 last = endOf(p, first);
  i64 count = 0;
#pragma unroll 4
  for (i64 i = first + threadIdx.x; i < last; i += kNonZeroThreads) count += isNonZero(p, i) ? 1 : 0;
  count = blockReduce(count, Add(), shared);
  if (threadIdx.x == 0) p.counts[blockIdx.x] = count;
}

// The counts of blocks [0, blocks) together, for every thread.
__device__ i64 countUpTo(const NonZeroParameters& p, i64 blocks, i64* shared) {
  i64 sum = 0;
  for (i64 k = threadIdx.x; k < blocks; k += kNonZeroThreads) sum += p.counts[k];
  return blockReduce(sum, Add(), shared);
}
