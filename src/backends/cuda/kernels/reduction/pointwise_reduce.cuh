// Reductions of values that generated code computes from operands. JOIN: 0 sum, 1 product, 2 maximum, 3 minimum, 4
// mean. Y: type of the result. The generated code defines valueAt(), which takes the operands' offsets.
#pragma once

#include "backends/cuda/kernels/reduction/reduction_parameters.h"
#include "prelude.cuh"

__device__ float valueAt(const PointwiseReduceParameters& p, const i64* at);

__device__ inline float startOf() { return JOIN == 1 ? 1.f : JOIN == 2 ? -infinity() : JOIN == 3 ? infinity() : 0.f; }
struct Join {
  __device__ float operator()(float a, float b) const {
    if (JOIN == 1) return a * b;
    if (JOIN == 2) return Max()(a, b);
    if (JOIN == 3) return Min()(a, b);
    return a + b;
  }
};
__device__ inline void leave(const PointwiseReduceParameters& p, i64 output, float value) {
  if (p.splits > 1) {
    p.partial[blockIdx.y * p.kept.count + output] = value;
    return;
  }
  i64 at[kReducedOperands];
  locate(p.kept, (unsigned)output, at);
  store<Y>(p.y, at[0], JOIN == 4 ? value / (float)p.total : value);
}

// The value of the reduced space at i for the output whose operands begin at `base`.
__device__ inline float reducedValue(const PointwiseReduceParameters& p, const i64* base, i64 i) {
  i64 at[kReducedOperands];
  if (p.reduced.axes == 1) {
#pragma unroll
    for (int k = 1; k < kReducedOperands; ++k) at[k] = base[k] + i * p.reduced.stride[k][0];
  } else {
    locate(p.reduced, (unsigned)i, at);
#pragma unroll
    for (int k = 1; k < kReducedOperands; ++k) at[k] += base[k];
  }
  return valueAt(p, at + 1);
}

// Values first, first + step, ... below the end of this block's split, in four chains.
__device__ inline float reduceSome(const PointwiseReduceParameters& p, i64 output, int first, int step) {
  i64 base[kReducedOperands];
  locate(p.kept, (unsigned)output, base);
  const i64 begin = blockIdx.y * p.perSplit;
  const i64 last = begin + p.perSplit < p.total ? begin + p.perSplit : p.total;
  float chain[4] = {startOf(), startOf(), startOf(), startOf()};
  i64 i = begin + first;
  for (; i + 3 * step < last; i += 4 * step) {
#pragma unroll
    for (int k = 0; k < 4; ++k) chain[k] = Join()(chain[k], reducedValue(p, base, i + k * step));
  }
  for (; i < last; i += step) chain[0] = Join()(chain[0], reducedValue(p, base, i));
  return Join()(Join()(chain[0], chain[1]), Join()(chain[2], chain[3]));
}

// A block per output (and split).
KERNEL(tenon_pointwise_reduce_block, PointwiseReduceParameters) {
  __shared__ float shared[32];
  const float all = blockReduce(reduceSome(p, blockIdx.x, threadIdx.x, blockDim.x), Join(), shared);
  if (threadIdx.x == 0) leave(p, blockIdx.x, all);
}

// A warp per output: few reduced values.
KERNEL(tenon_pointwise_reduce_warp, PointwiseReduceParameters) {
  const i64 output = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  if (output >= p.kept.count) return;
  const float all = warpReduce(reduceSome(p, output, threadIdx.x % 32, 32), Join());
  if (threadIdx.x % 32 == 0) leave(p, output, all);
}

// A thread per output: very few reduced values.
KERNEL(tenon_pointwise_reduce_thread, PointwiseReduceParameters) {
  const i64 output = globalIndex();
  if (output < p.kept.count) leave(p, output, reduceSome(p, output, 0, 1));
}

// 32 neighbouring outputs per block, by 8 warps that share the reduced values: the kept axis is the close one.
KERNEL(tenon_pointwise_reduce_columns, PointwiseReduceParameters) {
  __shared__ float shared[8][32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const i64 output = (i64)blockIdx.x * 32 + lane;
  shared[warp][lane] = output < p.kept.count ? reduceSome(p, output, warp, 8) : startOf();
  __syncthreads();
  if (warp != 0 || output >= p.kept.count) return;
  float all = shared[0][lane];
  for (int k = 1; k < 8; ++k) all = Join()(all, shared[k][lane]);
  leave(p, output, all);
}

// A warp per output joins the splits.
KERNEL(tenon_pointwise_reduce_finish, PointwiseReduceParameters) {
  const i64 output = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  if (output >= p.kept.count) return;
  float all = startOf();
  for (i64 split = threadIdx.x % 32; split < p.splits; split += 32) {
    all = Join()(all, p.partial[split * p.kept.count + output]);
  }
  all = warpReduce(all, Join());
  i64 at[kReducedOperands];
  locate(p.kept, (unsigned)output, at);
  if (threadIdx.x % 32 == 0) store<Y>(p.y, at[0], JOIN == 4 ? all / (float)p.total : all);
}
