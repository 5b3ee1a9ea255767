// Concatenation in one launch: the rows of many tensors are copied into the rows of one.
#pragma once

#include "backends/cuda/kernels/concat/concat_parameters.h"
#include "prelude.cuh"

// `change(value, column)` makes the element at a column of the target of the one that is copied there.
template <typename T, typename Change>
__device__ void copyParts(const ConcatParameters& p, Change change) {
  const unsigned group = blockIdx.x / p.tiles;
  const int inBlock = threadIdx.x / p.lanes;
  const i64 column = (i64)(blockIdx.x - group * p.tiles.divisor) * p.lanes + (threadIdx.x - inBlock * p.lanes);
  if (inBlock >= p.rowsAtOnce || column >= p.begin[p.parts]) return;
  int part = 0;
  for (int step = p.half; step > 0; step /= 2) {
    if (part + step < p.parts && p.begin[part + step] <= column) part += step;
  }
  const i64 inPart = column - p.begin[part];
  const i64 length = p.begin[part + 1] - p.begin[part];
  const T* from = (const T*)p.from[part] + inPart;
  T* to = (T*)p.to + p.place[part] + inPart;
  const i64 first = (i64)group * p.rowsAtOnce * p.rowsOfThread + inBlock;
  T value[kMostRows];
#pragma unroll
  for (int k = 0; k < kMostRows; ++k) {
    const i64 row = first + k * p.rowsAtOnce;
    if (k < p.rowsOfThread && row < p.rows) value[k] = from[row * length];
  }
#pragma unroll
  for (int k = 0; k < kMostRows; ++k) {
    const i64 row = first + k * p.rowsAtOnce;
    if (k < p.rowsOfThread && row < p.rows) to[row * p.pitch] = change(value[k], p.place[part] + inPart);
  }
}
