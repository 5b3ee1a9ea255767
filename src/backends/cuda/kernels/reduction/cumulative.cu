// Running sums along an axis. X: element type; EXCLUSIVE, REVERSE: 1 or 0.
#include "backends/cuda/kernels/reduction/reduction_parameters.h"
#include "prelude.cuh"

typedef ComputeOf<X> C;

__device__ void storeSum(const CumulativeParameters& p, i64 place, float sum) { store<X>(p.y, place, sum); }
template <typename T = X>
__device__ void storeSum(const CumulativeParameters& p, i64 place, i64 sum) {  // integers wrap in their type
  ((T*)p.y)[place] = (T)sum;
}

__device__ i64 placeOf(const CumulativeParameters& p, i64 step) {
  return (REVERSE ? p.extent - 1 - step : step) * p.stride;
}

// A thread per line, where neighbouring lines lie close together.
KERNEL(tenon_cumulative_columns, CumulativeParameters) {
  const i64 line = globalIndex();
  if (line >= p.lines.count) return;
  i64 at[1];
  locate(p.lines, (unsigned)line, at);
  C sum = 0;
  for (i64 step = 0; step < p.extent; ++step) {
    const i64 place = at[0] + placeOf(p, step);
    const C value = load<X>(p.x, place);
    if (EXCLUSIVE) storeSum(p, place, sum);
    sum += value;
    if (!EXCLUSIVE) storeSum(p, place, sum);
  }
}

// A block per line, a tile of one element per thread at a time.
KERNEL(tenon_cumulative_block, CumulativeParameters) {
  __shared__ C ofWarps[32];
  i64 at[1];
  locate(p.lines, (unsigned)blockIdx.x, at);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  C carry = 0;
  for (i64 first = 0; first < p.extent; first += blockDim.x) {
    const i64 step = first + threadIdx.x;
    const i64 place = at[0] + placeOf(p, step);
    const C value = step < p.extent ? load<X>(p.x, place) : C(0);
    C sum = value;
    for (int delta = 1; delta < 32; delta *= 2) {
      const C below = shuffleUp(sum, delta);
      if (lane >= delta) sum += below;
    }
    __syncthreads();  // the sums of the tile before have been read
    if (lane == 31) ofWarps[warp] = sum;
    __syncthreads();
    C before = carry;
    for (int k = 0; k < (int)blockDim.x / 32; ++k) {
      if (k < warp) before += ofWarps[k];
      carry += ofWarps[k];
    }
    const C behind = shuffleUp(sum, 1);
    const C own = EXCLUSIVE ? (lane == 0 ? C(0) : behind) : sum;
    if (step < p.extent) storeSum(p, place, before + own);
  }
}
