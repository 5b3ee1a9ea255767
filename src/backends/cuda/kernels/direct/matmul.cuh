// Matrix product: tiles of 32 x 32 results through shared memory, four results per thread.
#pragma once

#include "contraction.cuh"

template <int kOperands>
__device__ inline void resultOffsets(const MatMulParameters& p, i64 batch, i64 row, i64 column, i64* at) {
#pragma unroll
  for (int k = 0; k < kOperands; ++k) at[k] = row * p.stride[k][p.rank - 2] + column * p.stride[k][p.rank - 1];
  for (int axis = p.rank - 3; axis >= 0; --axis) {
    const i64 i = batch % p.extent[axis];
    batch /= p.extent[axis];
#pragma unroll
    for (int k = 0; k < kOperands; ++k) at[k] += i * p.stride[k][axis];
  }
}

template <int kOperands, typename Y, typename Finish>
__device__ inline void multiply(const MatMulParameters& p, Finish finish) {
  constexpr int kTile = kMatMulTile;
  __shared__ A tileA[kTile][kTile + 1];
  __shared__ A tileB[kTile][kTile + 1];
  const unsigned rest = blockIdx.x / p.tilesN;
  const unsigned batch = rest / p.tilesM;
  const i64 n0 = (i64)(blockIdx.x - rest * p.tilesN.divisor) * kTile;
  const i64 m0 = (i64)(rest - batch * p.tilesM.divisor) * kTile;
  i64 at[2];
  locate(p.batch, batch, at);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;  // of 8
  A sum[4] = {};
  for (i64 k0 = 0; k0 < p.inner; k0 += kTile) {
    for (int i = warp; i < kTile; i += 8) {
      const i64 m = m0 + (p.aInner == 1 ? i : lane);
      const i64 ka = k0 + (p.aInner == 1 ? lane : i);
      const A a = m < p.rows && ka < p.inner ? (A)load<X>(p.a, at[0] + m * p.aRow + ka * p.aInner) : A(0);
      tileA[m - m0][ka - k0] = a;
      const i64 n = n0 + (p.bColumn == 1 ? lane : i);
      const i64 kb = k0 + (p.bColumn == 1 ? i : lane);
      const A b = n < p.columns && kb < p.inner ? (A)load<X>(p.b, at[1] + kb * p.bInner + n * p.bColumn) : A(0);
      tileB[kb - k0][n - n0] = b;
    }
    __syncthreads();
    for (int k = 0; k < kTile; ++k) {
      const A b = tileB[k][lane];
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[i] += tileA[warp + 8 * i][k] * b;
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    const i64 row = m0 + warp + 8 * i;
    const i64 column = n0 + lane;
    if (row >= p.rows || column >= p.columns) continue;
    i64 offsets[kOperands];
    resultOffsets<kOperands>(p, batch, row, column, offsets);
    ((Y*)p.data[0])[offsets[0]] = finish(p, offsets, sum[i]);
  }
}
