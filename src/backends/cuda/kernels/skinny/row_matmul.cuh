// Products of a few rows by constant weights, [columns][inner], bound by reading these once. A warp takes kColumns
// columns; its first packs of weights are on their way before the launch in front of this one has ended.
#pragma once

#include "backends/cuda/kernels/skinny/skinny_parameters.h"
#include "scalar.cuh"

template <int kColumns, int kSteps>
struct RowWeights {
  static constexpr int kPack = 16 / sizeof(X);
  const Pack<X, kPack>* from[kColumns];
  Pack<X, kPack> packs[kSteps][kColumns];

  __device__ RowWeights(const SkinnyParameters& p, i64 column0) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const i64 column = column0 + c < p.columns ? column0 + c : p.columns - 1;
      from[c] = (const Pack<X, kPack>*)((const X*)p.w + column * p.inner);
    }
  }
  // The packs `first`, first + 32, ... of each column.
  __device__ void load(int first, int count) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        if (first + 32 * s < count) packs[s][c] = from[c][first + 32 * s];
      }
    }
  }
};

// For kernels that wait themselves. kVariant: 10 * rows + columns.
template <int kVariant, int kOperands, typename Y, typename Finish>
__device__ inline void multiplyRows(const SkinnyParameters& p, Finish finish) {
  constexpr int kRows = kVariant / 10, kColumns = kVariant % 10;
  constexpr int kSteps = 8 / kColumns;
  constexpr int kPack = 16 / sizeof(X);
  const int lane = threadIdx.x % 32;
  const i64 column0 = ((i64)blockIdx.x * 8 + threadIdx.x / 32) * kColumns;
  if (column0 >= p.columns) return;
  const i64 row0 = (i64)blockIdx.y * kRows;
  const int count = (int)(p.inner / kPack);
  RowWeights<kColumns, kSteps> weights(p, column0);
  weights.load(lane, count);
  afterPredecessor();
  const Pack<X, kPack>* x[kRows];
  A sum[kRows][kColumns];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    x[r] = (const Pack<X, kPack>*)((const X*)p.x + (row0 + r < p.rows ? row0 + r : p.rows - 1) * p.inner);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sum[r][c] = 0;
  }
  for (int first = lane; first < count; first += 32 * kSteps) {
    if (first != lane) weights.load(first, count);
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      if (first + 32 * s >= count) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const Pack<X, kPack> values = x[r][first + 32 * s];
#pragma unroll
        for (int j = 0; j < kPack; ++j) {
          const A value = Element<X>::load(values.e[j]);
#pragma unroll
          for (int c = 0; c < kColumns; ++c) sum[r][c] += value * (A)Element<X>::load(weights.packs[s][c].e[j]);
        }
      }
    }
  }
  A mine = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const A all = warpReduce(sum[r][c], Add());
      if (lane == r * kColumns + c) mine = all;
    }
  }
  const i64 row = row0 + lane / kColumns;
  const i64 column = column0 + lane % kColumns;
  if (lane >= kRows * kColumns || row >= p.rows || column >= p.columns) return;
  i64 at[kOperands];
#pragma unroll
  for (int k = 0; k < kOperands; ++k) at[k] = row * p.stride[k][0] + column * p.stride[k][1];
  ((Y*)p.data[0])[at[0]] = finish(p, at, mine);
}
