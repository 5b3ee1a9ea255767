// Rows times the matrix of the expert that each was given to: rows are listed expert by expert, then tiles of rows of
// one expert are multiplied. Which rows share a tile changes no result. X: type of values; I: of the experts' numbers.
#pragma once

#include "backends/cuda/kernels/experts/expert_parameters.h"
#include "prelude.cuh"

__device__ i64 expertOf(const ExpertParameters& p, i64 row) {
  const i64 expert = load<I>(p.chosen, row);
  return expert >= 0 && expert < p.experts ? expert : p.experts;
}

KERNEL(tenon_expert_count, ExpertParameters) {
  const i64 row = globalIndex();
  if (row < p.rows) p.places[row] = addGlobal(&p.counts[expertOf(p, row)], 1);
}

// One block: where the rows and the tiles of each expert begin.
KERNEL(tenon_expert_starts, ExpertParameters) {
  __shared__ unsigned rowsOf[kExpertThreads], tilesOf[kExpertThreads];
  unsigned row = 0;
  unsigned tile = 0;
  for (i64 first = 0; first <= p.experts; first += kExpertThreads) {
    const i64 expert = first + threadIdx.x;
    const unsigned rows = expert <= p.experts ? p.counts[expert] : 0;
    const unsigned tiles = (rows + (unsigned)p.tileRows - 1) / (unsigned)p.tileRows;
    __syncthreads();  // those before have been read
    rowsOf[threadIdx.x] = rows;
    tilesOf[threadIdx.x] = tiles;
    __syncthreads();
    for (int delta = 1; delta < kExpertThreads; delta *= 2) {
      const bool adds = (int)threadIdx.x >= delta;
      const unsigned belowRows = adds ? rowsOf[threadIdx.x - delta] : 0;
      const unsigned belowTiles = adds ? tilesOf[threadIdx.x - delta] : 0;
      __syncthreads();
      rowsOf[threadIdx.x] += belowRows;
      tilesOf[threadIdx.x] += belowTiles;
      __syncthreads();
    }
    if (expert <= p.experts) {
      p.starts[expert] = row + rowsOf[threadIdx.x] - rows;
      p.tiles[expert] = tile + tilesOf[threadIdx.x] - tiles;
    }
    row += rowsOf[kExpertThreads - 1];
    tile += tilesOf[kExpertThreads - 1];
  }
  if (threadIdx.x == 0) p.tiles[p.experts + 1] = tile;
}

KERNEL(tenon_expert_order, ExpertParameters) {
  const i64 row = globalIndex();
  if (row < p.rows) p.order[p.starts[expertOf(p, row)] + p.places[row]] = (unsigned)row;
}

// The last expert whose tiles begin at or before `tile`, of those that have any.
__device__ i64 expertOfTile(const ExpertParameters& p, unsigned tile) {
  i64 low = 0;
  i64 high = p.experts;
  while (low < high) {
    const i64 middle = (low + high + 1) / 2;
    if (p.tiles[middle] <= tile) low = middle;
    else high = middle - 1;
  }
  return low;
}

// What a block multiplies.
template <int kRows>
struct ExpertTile {
  i64 rows[kRows];     // of the result; -1: none
  i64 sources[kRows];  // of x
};
// False: the block has no tile. Blocks of rows that have no expert have a depth of 0.
template <int kRows>
__device__ bool takeTile(const ExpertParameters& p, ExpertTile<kRows>& tile, i64& expert, i64& depth) {
  const unsigned number = (unsigned)(blockIdx.x / p.columnTiles);
  if (number >= p.tiles[p.experts + 1]) return false;
  expert = expertOfTile(p, number);
  depth = expert < p.experts ? p.depth : 0;
  const i64 begin = (i64)(number - p.tiles[expert]) * kRows;
  const i64 there = p.counts[expert] - begin;
  if (threadIdx.x < kRows) {
    const i64 row = threadIdx.x < there ? (i64)p.order[p.starts[expert] + begin + threadIdx.x] : -1;
    tile.rows[threadIdx.x] = row;
    tile.sources[threadIdx.x] = p.sources == 1 ? row / p.perToken : row;
  }
  __syncthreads();
  return true;
}

// A thread has four neighbouring columns of kRows / 16 rows.
template <int kRows>
__device__ void multiplyTile(const ExpertParameters& p) {
  constexpr int kOwn = kRows / 16;
  __shared__ float a[kExpertDepth][kRows + 1];
  __shared__ float b[kExpertDepth][kExpertColumns];
  __shared__ ExpertTile<kRows> tile;
  i64 expert = 0;
  i64 depth = 0;
  if (!takeTile(p, tile, expert, depth)) return;
  const i64 firstColumn = blockIdx.x % p.columnTiles * kExpertColumns;
  float sum[kOwn][4] = {};
  const int row = threadIdx.x / 16;
  const int column = threadIdx.x % 16 * 4;
  for (i64 first = 0; first < depth; first += kExpertDepth) {
    for (int k = threadIdx.x; k < kRows * kExpertDepth; k += kExpertThreads) {
      const i64 d = first + k % kExpertDepth;
      const bool inside = tile.rows[k / kExpertDepth] >= 0 && d < depth;
      a[k % kExpertDepth][k / kExpertDepth] = inside ? load<X>(p.x, tile.sources[k / kExpertDepth] * depth + d) : 0.f;
    }
    for (int k = threadIdx.x; k < kExpertDepth * kExpertColumns; k += kExpertThreads) {
      const i64 d = first + k / kExpertColumns;
      const i64 n = firstColumn + k % kExpertColumns;
      b[k / kExpertColumns][k % kExpertColumns] =
          d < depth && n < p.columns ? load<X>(p.weights, (expert * depth + d) * p.columns + n) : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kExpertDepth; ++d) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += a[d][row + 16 * i] * b[d][column + j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const i64 to = tile.rows[row + 16 * i];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const i64 n = firstColumn + column + j;
      if (to >= 0 && n < p.columns) store<X>(p.y, to * p.columns + n, sum[i][j]);
    }
  }
}

KERNEL(tenon_expert_few, ExpertParameters) { multiplyTile<kFewExpertRows>(p); }
KERNEL(tenon_expert_many, ExpertParameters) { multiplyTile<kManyExpertRows>(p); }
