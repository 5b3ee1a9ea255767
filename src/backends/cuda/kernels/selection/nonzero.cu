// Coordinates of elements that are not zero, in row-major order: each block knows from the counts of those in front of
// it in which column it begins. I: type of the coordinates.
#include "nonzero.cuh"

__device__ void writeColumn(const NonZeroParameters& p, i64 column, i64 element) {
  for (int axis = p.rank - 1; axis >= 0; --axis)
    ((I*)p.y)[axis * p.columns + column] = (I)takeIndex(element, p.extent[axis]);
}

KERNEL(tenon_nonzero, NonZeroParameters) {
  __shared__ i64 sums[32];
  __shared__ unsigned ofWarps[kNonZeroThreads / 32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  i64 column = countUpTo(p, blockIdx.x < p.blocks ? blockIdx.x : p.blocks, sums);
  const i64 first = blockIdx.x * p.perBlock;
  const i64 last = endOf(p, first);
  for (i64 tile = first; tile < last && column < p.columns; tile += kNonZeroTile) {
    // A warp has neighbouring elements, 32 at a time.
    const i64 own = tile + warp * (32 * kNonZeroPerThread) + lane;
    bool found[kNonZeroPerThread];
#pragma unroll
    for (int j = 0; j < kNonZeroPerThread; ++j) found[j] = own + j * 32 < last && isNonZero(p, own + j * 32);
    unsigned votes[kNonZeroPerThread];
    unsigned count = 0;
#pragma unroll
    for (int j = 0; j < kNonZeroPerThread; ++j) {
      votes[j] = votesOf(found[j]);
      count += countBits(votes[j]);
    }
    __syncthreads();  // the counts of the tile before have been read
    if (lane == 0) ofWarps[warp] = count;
    __syncthreads();
    i64 place = column;
    for (int k = 0; k < kNonZeroThreads / 32; ++k) {
      if (k < warp) place += ofWarps[k];
      column += ofWarps[k];
    }
#pragma unroll
    for (int j = 0; j < kNonZeroPerThread; ++j) {
      const i64 mine = place + countBits(votes[j] & ((1u << lane) - 1));
      if (found[j] && mine < p.columns) writeColumn(p, mine, own + j * 32);
      place += countBits(votes[j]);
    }
  }
  const i64 all = countUpTo(p, p.blocks, sums);
  for (i64 k = all + globalIndex(); k < p.columns; k += (i64)gridDim.x * kNonZeroThreads) {
    for (int axis = 0; axis < p.rank; ++axis) ((I*)p.y)[axis * p.columns + k] = 0;
  }
}
