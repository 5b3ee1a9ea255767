// Beside products of many tiles, as launches of their own: rows of x normalized by their moments in front of one,
// which reads weights that hold scale and shift; the moments of the rows of y behind one. A warp for each row.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "mma90_norm.cuh"

struct Mma90Apart {
  static const int kPack = 8;

  __device__ __forceinline__ static i64 row() { return (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; }

  template <bool kCentered, bool kKeeps>
  __device__ __forceinline__ static void normalize(const Mma90Parameters& p) {
    if (row() >= p.rows) return;
    const Mma90Norm& norm = p.norm;
    const Moments of = Normalized<kCentered, kKeeps>::join(norm, row());
    const i64 first = row() * norm.inner;
    for (int k = threadIdx.x % 32 * kPack; k < norm.inner; k += 32 * kPack) {
      const auto x = *(const Pack<X, kPack>*)((const X*)norm.x + first + k);
      float value[kPack];
      Pack<X, kPack> plain;
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        value[e] = (Element<X>::load(x.e[e]) - of.mean) * of.scale;
        plain.e[e] = Element<X>::store(value[e]);
      }
      *(Pack<X, kPack>*)((X*)p.plain + first + k) = plain;
      if (!kKeeps) continue;
      Pack<X, kPack> kept;
#pragma unroll
      for (int e = 0; e < kPack; ++e)
        kept.e[e] = Element<X>::store(fmaf(value[e], norm.elements[k + e], norm.elements[norm.inner + k + e]));
      *(Pack<X, kPack>*)((X*)norm.kept + first + k) = kept;
    }
  }

  template <typename Y>
  __device__ __forceinline__ static void measure(const Mma90Parameters& p) {
    if (row() >= p.rows) return;
    const int runs = (p.columns + kMma90Columns - 1) / kMma90Columns;
    for (int begin = 0; begin < p.columns; begin += 32 * kPack) {
      const int column = begin + threadIdx.x % 32 * kPack, run = column / kMma90Columns;
      const bool isOwn = column < p.columns;
      Pack<Y, kPack> own = {};
      if (isOwn) own = *(const Pack<Y, kPack>*)((const Y*)p.data[0] + row() * p.columns + column);
      const Moments moments = momentsOfRun(own, isOwn, (float)min(p.columns - run * kMma90Columns, kMma90Columns));
      if (isOwn && threadIdx.x % 8 == 0) ((Moments*)p.moments)[row() * runs + run] = moments;
    }
  }
};
