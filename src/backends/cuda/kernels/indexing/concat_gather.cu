// Gather from tensors that stand side by side along its axis, as if they were one. An index outside gives zeros.
#include "backends/cuda/kernels/indexing/concat_gather_parameters.h"
#include "index.cuh"

template <typename T>
__device__ T picked(const ConcatGatherParameters& p, i64 index, unsigned outer, unsigned unit) {
  T value = {};
  if (!inside(index, p.begin[p.parts])) return value;
  int part = 0;
  for (int step = p.half; step > 0; step /= 2) {
    if (part + step < p.parts && p.begin[part + step] <= index) part += step;
  }
  const i64 extent = p.begin[part + 1] - p.begin[part];
  return ((const T*)p.from[part])[((i64)outer * extent + index - p.begin[part]) * p.inner.divisor + unit];
}

// One unit of one index.
template <typename T>
__device__ void pickUnits(const ConcatGatherParameters& p) {
  const i64 at = globalIndex();
  if (at >= p.threads) return;
  const unsigned row = (unsigned)at / p.inner;
  const unsigned outer = row / p.picks;
  const unsigned pick = row - outer * p.picks.divisor;
  ((T*)p.y)[at] = picked<T>(p, p.indices[pick], outer, (unsigned)at - row * p.inner.divisor);
}

// kPack neighbouring indices of one element each.
template <typename T, int kPack>
__device__ void pickPacks(const ConcatGatherParameters& p) {
  const i64 at = globalIndex();
  if (at >= p.threads) return;
  const unsigned outer = (unsigned)at / p.picks;
  const unsigned first = ((unsigned)at - outer * p.picks.divisor) * kPack;
  Pack<T, kPack> pack;
#pragma unroll
  for (int k = 0; k < kPack; ++k) pack.e[k] = picked<T>(p, p.indices[first + k], outer, 0);
  ((Pack<T, kPack>*)p.y)[at] = pack;
}

#define CONCAT_GATHER(bytes, T) \
  KERNEL(tenon_concat_gather_##bytes, ConcatGatherParameters) { pickUnits<T>(p); }
CONCAT_GATHER(1, unsigned char)
CONCAT_GATHER(2, unsigned short)
CONCAT_GATHER(4, unsigned)
CONCAT_GATHER(8, uint2)
CONCAT_GATHER(16, uint4)
KERNEL(tenon_concat_gather_packs_1, ConcatGatherParameters) { pickPacks<unsigned char, 4>(p); }
KERNEL(tenon_concat_gather_packs_2, ConcatGatherParameters) { pickPacks<unsigned short, 4>(p); }
KERNEL(tenon_concat_gather_packs_4, ConcatGatherParameters) { pickPacks<unsigned, 4>(p); }
