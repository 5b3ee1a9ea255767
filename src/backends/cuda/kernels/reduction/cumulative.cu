// Running sums along an axis, in chunks of lines: a launch adds the elements of each chunk up, a second one begins each
// chunk with the sums of those in front of it; lines of one chunk need the second alone. X: element type; EXCLUSIVE,
// REVERSE: 1 or 0.
#include "backends/cuda/kernels/reduction/reduction_parameters.h"
#include "prelude.cuh"

typedef ComputeOf<X> C;
constexpr int kItems = kCumulativeItems;

__device__ inline void storeSum(const CumulativeParameters& p, i64 place, float sum) { store<X>(p.y, place, sum); }
template <typename T = X>
__device__ inline void storeSum(const CumulativeParameters& p, i64 place, i64 sum) {  // integers wrap in their type
  ((T*)p.y)[place] = (T)sum;
}

__device__ inline i64 placeOf(const CumulativeParameters& p, i64 step) {
  return (REVERSE ? p.extent - 1 - step : step) * p.stride;
}
__device__ inline C valueAt(const CumulativeParameters& p, i64 line, i64 step) {
  return step < p.extent ? load<X>(p.x, line + placeOf(p, step)) : C(0);
}

// Lines along which elements lie side by side: a block has a chunk, a warp 32 neighbouring elements at a time.
struct Along {
  i64 line, chunk, first;  // first: step of this lane
  i64 at[1];

  __device__ Along(const CumulativeParameters& p) {
    line = blockIdx.x / p.chunks;
    chunk = blockIdx.x % p.chunks;
    locate(p.lines, (unsigned)line, at);
    first = chunk * blockDim.x * kItems + threadIdx.x / 32 * (32 * kItems) + threadIdx.x % 32;
  }
  __device__ void read(const CumulativeParameters& p, C (&own)[kItems]) const {
#pragma unroll
    for (int k = 0; k < kItems; ++k) own[k] = valueAt(p, at[0], first + k * 32);
  }
};

KERNEL(tenon_cumulative_sums, CumulativeParameters) {
  __shared__ C shared[32];
  const Along along(p);
  C own[kItems];
  along.read(p, own);
  C sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) sum += own[k];
  sum = blockReduce(sum, Add(), shared);
  if (threadIdx.x == 0) ((C*)p.sums)[along.chunk * p.lines.count + along.line] = sum;
}

KERNEL(tenon_cumulative, CumulativeParameters) {
  __shared__ C shared[32], ofWarps[32];
  const Along along(p);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  C own[kItems];
  along.read(p, own);
  C before = 0;
  if (along.chunk > 0) {
    for (i64 k = threadIdx.x; k < along.chunk; k += blockDim.x)
      before += ((const C*)p.sums)[k * p.lines.count + along.line];
    before = blockReduce(before, Add(), shared);
  }
  C carry = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    C sum = own[k];
    for (int delta = 1; delta < 32; delta *= 2) {
      const C below = shuffleUp(sum, delta);
      if (lane >= delta) sum += below;
    }
    const C all = shuffleFrom(sum, 31);
    const C behind = shuffleUp(sum, 1);
    own[k] = carry + (EXCLUSIVE ? (lane == 0 ? C(0) : behind) : sum);
    carry += all;
  }
  if (lane == 0) ofWarps[warp] = carry;
  __syncthreads();
  for (int k = 0; k < warp; ++k) before += ofWarps[k];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const i64 step = along.first + k * 32;
    if (step < p.extent) storeSum(p, along.at[0] + placeOf(p, step), before + own[k]);
  }
}

// Lines that lie side by side: a lane has one, a warp some steps of 32 of them.
struct Across {
  i64 line, chunk, first;
  bool isLine;
  i64 at[1];

  __device__ Across(const CumulativeParameters& p) {
    line = blockIdx.x / p.chunks * 32 + threadIdx.x % 32;
    chunk = blockIdx.x % p.chunks;
    isLine = line < p.lines.count;
    locate(p.lines, (unsigned)(isLine ? line : 0), at);
    first = (chunk * (blockDim.x / 32) + threadIdx.x / 32) * kItems;
  }
  __device__ void read(const CumulativeParameters& p, C (&own)[kItems]) const {
#pragma unroll
    for (int k = 0; k < kItems; ++k) own[k] = valueAt(p, at[0], first + k);
  }
};
// The sums of the warps of a block, by lane.
typedef C SumsOfWarps[kCumulativeThreads / 32][32];

KERNEL(tenon_cumulative_sums_across, CumulativeParameters) {
  __shared__ SumsOfWarps shared;
  const Across across(p);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  C own[kItems];
  across.read(p, own);
  C sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) sum += own[k];
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || !across.isLine) return;
  for (int k = 1; k < (int)blockDim.x / 32; ++k) sum += shared[k][lane];
  ((C*)p.sums)[across.chunk * p.lines.count + across.line] = sum;
}

KERNEL(tenon_cumulative_across, CumulativeParameters) {
  __shared__ SumsOfWarps shared, chunks;
  const Across across(p);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  C own[kItems];
  across.read(p, own);
  C before = 0;
  for (i64 k = warp; k < across.chunk && across.isLine; k += warps)
    before += ((const C*)p.sums)[k * p.lines.count + across.line];
  C sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const C value = own[k];
    own[k] = EXCLUSIVE ? sum : sum + value;
    sum += value;
  }
  shared[warp][lane] = sum;
  chunks[warp][lane] = before;
  __syncthreads();
  before = 0;
  for (int k = 0; k < warps; ++k) before += chunks[k][lane];
  for (int k = 0; k < warp; ++k) before += shared[k][lane];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const i64 step = across.first + k;
    if (across.isLine && step < p.extent) storeSum(p, across.at[0] + placeOf(p, step), before + own[k]);
  }
}
