// GEMV-like matmuls (few rows), bound by reading the weights once: a warp per row of weights, which lies
// in one piece, for up to kRows rows of the other operand at once.
#pragma once

#include "backends/cuda/kernels/skinny/skinny_parameters.h"
#include "scalar.cuh"

template <int kRows, int kOperands, typename Y, typename Finish>
__device__ inline void multiplySkinny(const SkinnyParameters& p, Finish finish) {
  constexpr int kPack = 16 / sizeof(X);
  const int lane = threadIdx.x % 32;
  const i64 column = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  if (column >= p.columns) return;
  const i64 row0 = (i64)blockIdx.y * kRows;
  const X* w = (const X*)p.w + column * p.inner;
  const X* x[kRows];
  A sum[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    x[r] = (const X*)p.x + (row0 + r < p.rows ? row0 + r : p.rows - 1) * p.inner;
    sum[r] = 0;
  }
  const i64 packs = p.packs ? p.inner / kPack : 0;
#pragma unroll 2
  for (i64 i = lane; i < packs; i += 32) {
    const Pack<X, kPack> weights = ((const Pack<X, kPack>*)w)[i];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const Pack<X, kPack> values = ((const Pack<X, kPack>*)x[r])[i];
#pragma unroll
      for (int j = 0; j < kPack; ++j) sum[r] += (A)Element<X>::load(values.e[j]) * (A)Element<X>::load(weights.e[j]);
    }
  }
  for (i64 i = packs * kPack + lane; i < p.inner; i += 32) {
    const A weight = Element<X>::load(w[i]);
#pragma unroll
    for (int r = 0; r < kRows; ++r) sum[r] += (A)Element<X>::load(x[r][i]) * weight;
  }
  A mine = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const A all = warpReduce(sum[r], Add());
    if (lane == r) mine = all;
  }
  const i64 row = row0 + lane;
  if (lane >= kRows || row >= p.rows) return;
  if (p.bias != nullptr) mine += (A)load<X>(p.bias, column);
  i64 at[kOperands];
#pragma unroll
  for (int k = 0; k < kOperands; ++k) at[k] = row * p.stride[k][0] + column * p.stride[k][1];
  ((Y*)p.data[0])[at[0]] = finish(p, at, mine);
}
