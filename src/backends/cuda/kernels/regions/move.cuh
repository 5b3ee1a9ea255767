// A copy of pieces by all threads of a row of blocks.
#pragma once

#include "backends/cuda/kernels/regions/regions_parameters.h"
#include "prelude.cuh"

struct Unit16 {
  unsigned long long a, b;
};

template <typename U>
__device__ inline void moveUnits(const Move& move) {
  const i64 units = move.bytes / (i64)sizeof(U);
  const i64 count = move.outer * move.rows * units;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const i64 piece = i / units;
    const i64 outer = piece / move.rows;
    const i64 row = piece - outer * move.rows;
    const i64 within = (i - piece * units) * (i64)sizeof(U);
    *(U*)((char*)move.to + outer * move.toOuter + row * move.toRow + within) =
        *(const U*)((const char*)move.from + outer * move.fromOuter + row * move.fromRow + within);
  }
}

__device__ inline void moveAll(const Move& move) {
  switch (move.unit) {
    case 16: moveUnits<Unit16>(move); break;
    case 8: moveUnits<unsigned long long>(move); break;
    case 4: moveUnits<unsigned>(move); break;
    case 2: moveUnits<unsigned short>(move); break;
    default: moveUnits<unsigned char>(move);
  }
}
