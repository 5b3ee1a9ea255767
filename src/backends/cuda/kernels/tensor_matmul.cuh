// Products of f16 or bf16 by tensor cores, for so few rows that a library's tiles leave most of the chip idle: small tiles,
// the inner extent cut among the warps of a block and, with `splits`, among blocks, whose last one adds the parts in
// their order. ROW_TILE x COLUMN_TILE results per block, of ROW_WARPS x COLUMN_WARPS x INNER_WARPS warps; STAGES tiles of
// operands in shared memory. B_BY_COLUMNS: b is [columns][inner]; B_IS_CONSTANT: it may be read before the kernel in front
// has ended. The including text defines X and finish() as for contraction.cuh.
#pragma once

#include "scalar.cuh"
#include "tensor_core.cuh"

struct TensorProductParameters {
  void* data[16];     // y, x1.. of the epilogue
  const void* a;      // [rows][inner]
  const void* b;      // [inner][columns] or [columns][inner]
  float* partial;     // with splits: [split][tile][ROW_TILE * COLUMN_TILE]
  unsigned* arrived;  // of each tile: parts that are there; 0 between launches
  i64 rows, columns, inner;
  i64 stride[16][2];  // of data: along rows and columns
  Divider columnTiles;
  int splits;
  int aligned;        // rows of a and b are whole packs of 16 bytes
};

constexpr int kRowTile = ROW_TILE;
constexpr int kColumnTile = COLUMN_TILE;
constexpr int kInnerTile = 64;
constexpr int kInnerWarps = INNER_WARPS;
constexpr int kThreads = 32 * ROW_WARPS * COLUMN_WARPS * INNER_WARPS;
constexpr int kWarpRows = ROW_TILE / ROW_WARPS;
constexpr int kWarpColumns = COLUMN_TILE / COLUMN_WARPS;
constexpr int kStages = STAGES;
// Rows in shared memory end with 16 bytes of nothing, so that neighbours lie in different banks.
constexpr int kPitchA = kInnerTile + 8;
constexpr int kPitchB = (B_BY_COLUMNS ? kInnerTile : kColumnTile) + 8;
constexpr int kSizeA = kRowTile * kPitchA;
constexpr int kSizeB = (B_BY_COLUMNS ? kColumnTile : kInnerTile) * kPitchB;
constexpr int kPitchSum = kColumnTile + 8;
constexpr int kTileBytes = kStages * (kSizeA + kSizeB) * (int)sizeof(X);
constexpr int kSumBytes = kInnerWarps * kRowTile * kPitchSum * (int)sizeof(float);
constexpr int kProductBytes = kTileBytes > kSumBytes ? kTileBytes : kSumBytes;  // as TensorForm::sharedBytes()

// A tile of a row-major matrix to shared memory, by all threads; what lies outside becomes 0.
template <int kRows, int kColumns, int kPitch>
__device__ __forceinline__ void copyTile(X* to, const X* from, i64 row0, i64 rows, i64 column0, i64 columns, bool aligned) {
  constexpr int kPacks = kColumns / 8;
#pragma unroll
  for (int i = 0; i < (kRows * kPacks + kThreads - 1) / kThreads; ++i) {
    const int pack = i * kThreads + threadIdx.x;
    if (kRows * kPacks % kThreads != 0 && pack >= kRows * kPacks) break;
    const i64 row = row0 + pack / kPacks;
    const i64 column = column0 + pack % kPacks * 8;
    X* const target = to + pack / kPacks * kPitch + pack % kPacks * 8;
    if (aligned) {
      const bool inside = row < rows && column < columns;
      copyAsync(target, from + (inside ? row * columns + column : 0), inside);
    } else {
      for (int k = 0; k < 8; ++k) {
        X value = {};
        if (row < rows && column + k < columns) value = from[row * columns + column + k];
        target[k] = value;
      }
    }
  }
}

// Where a warp stands in the tile, and its part of the result.
struct WarpProduct {
  int lane, row, column, innerWarp;
  float sum[kWarpRows / 16][kWarpColumns / 8][4];

  __device__ __forceinline__ WarpProduct() {
    const int warp = threadIdx.x / 32;
    lane = threadIdx.x % 32;
    innerWarp = warp % kInnerWarps;
    column = warp / kInnerWarps % COLUMN_WARPS * kWarpColumns;
    row = warp / (kInnerWarps * COLUMN_WARPS) * kWarpRows;
#pragma unroll
    for (int m = 0; m < kWarpRows / 16; ++m) {
#pragma unroll
      for (int n = 0; n < kWarpColumns / 8; ++n) sum[m][n][0] = sum[m][n][1] = sum[m][n][2] = sum[m][n][3] = 0.f;
    }
  }

  // This warp's steps of a stage.
  __device__ __forceinline__ void add(const X* a, const X* b) {
    const X* const rowA = a + (row + lane % 16) * kPitchA + lane / 16 * 8;
    const X* const rowB = B_BY_COLUMNS ? b + (column + lane / 16 * 8 + lane % 8) * kPitchB + lane / 8 % 2 * 8
                                       : b + lane % 16 * kPitchB + column + lane / 16 * 8;
#pragma unroll
    for (int i = 0; i < kInnerTile / 16 / kInnerWarps; ++i) {
      const int step = (i * kInnerWarps + innerWarp) * 16;
      unsigned left[kWarpRows / 16][4];
#pragma unroll
      for (int m = 0; m < kWarpRows / 16; ++m) loadMatrices(left[m], rowA + m * 16 * kPitchA + step);
#pragma unroll
      for (int n = 0; n < kWarpColumns / 8; n += 2) {
        unsigned right[4];
        if (B_BY_COLUMNS) loadMatrices(right, rowB + n * 8 * kPitchB + step);
        else loadMatricesTransposed(right, rowB + step * kPitchB + n * 8);
#pragma unroll
        for (int m = 0; m < kWarpRows / 16; ++m) {
          multiplyAdd<X>(sum[m][n], left[m], right[0], right[1]);
          multiplyAdd<X>(sum[m][n + 1], left[m], right[2], right[3]);
        }
      }
    }
  }

  __device__ __forceinline__ void show(float* memory) const {
    float* const mine = memory + (innerWarp * kRowTile + row + lane / 4) * kPitchSum + column + lane % 4 * 2;
#pragma unroll
    for (int m = 0; m < kWarpRows / 16; ++m) {
#pragma unroll
      for (int n = 0; n < kWarpColumns / 8; ++n) {
        *(Pack<float, 2>*)(mine + m * 16 * kPitchSum + n * 8) = {{sum[m][n][0], sum[m][n][1]}};
        *(Pack<float, 2>*)(mine + (m * 16 + 8) * kPitchSum + n * 8) = {{sum[m][n][2], sum[m][n][3]}};
      }
    }
  }
};

template <int kOperands, typename Y, typename Finish>
__device__ __forceinline__ void multiplyTiles(const TensorProductParameters& p, Finish finish) {
  DYNAMIC_SHARED(memory, kProductBytes);
  X* const tileA = (X*)memory;
  X* const tileB = tileA + kStages * kSizeA;
  const unsigned rowTile = p.columnTiles.quotient(blockIdx.x);
  const i64 row0 = (i64)rowTile * kRowTile;
  const i64 column0 = (i64)(blockIdx.x - rowTile * p.columnTiles.divisor) * kColumnTile;
  const i64 steps = (p.inner + kInnerTile - 1) / kInnerTile;
  const i64 first = steps * blockIdx.y / p.splits;
  const i64 last = steps * (blockIdx.y + 1) / p.splits;
  const auto copyA = [&](i64 step) {
    if (step >= last) return;
    copyTile<kRowTile, kInnerTile, kPitchA>(tileA + (step - first) % kStages * kSizeA, (const X*)p.a, row0, p.rows, step * kInnerTile, p.inner,
                                            p.aligned);
  };
  const auto copyB = [&](i64 step) {
    if (step >= last) return;
    X* const to = tileB + (step - first) % kStages * kSizeB;
    if (B_BY_COLUMNS) copyTile<kColumnTile, kInnerTile, kPitchB>(to, (const X*)p.b, column0, p.columns, step * kInnerTile, p.inner, p.aligned);
    else copyTile<kInnerTile, kColumnTile, kPitchB>(to, (const X*)p.b, step * kInnerTile, p.inner, column0, p.columns, p.aligned);
  };

  if (!B_IS_CONSTANT) afterPredecessor();
  for (int stage = 0; stage < kStages - 1; ++stage) copyB(first + stage);
  if (B_IS_CONSTANT) afterPredecessor();
  for (int stage = 0; stage < kStages - 1; ++stage) {
    copyA(first + stage);
    closeCopies();  // the first group has all of b that is under way
  }
  WarpProduct product;
  for (i64 step = first; step < last; ++step) {
    waitForCopies<kStages - 2>();
    __syncthreads();
    copyA(step + kStages - 1);
    copyB(step + kStages - 1);
    closeCopies();
    const int stage = (int)((step - first) % kStages);
    product.add(tileA + stage * kSizeA, tileB + stage * kSizeB);
  }
  waitForCopies<0>();
  __syncthreads();
  product.show((float*)memory);
  __syncthreads();

  const auto sumOf = [&](int i) {
    const float* const shown = (const float*)memory + i / kColumnTile * kPitchSum + i % kColumnTile;
    float sum = shown[0];
#pragma unroll
    for (int w = 1; w < kInnerWarps; ++w) sum += shown[w * kRowTile * kPitchSum];
    return sum;
  };
  const auto put = [&](int i, float sum) {
    const i64 row = row0 + i / kColumnTile;
    const i64 column = column0 + i % kColumnTile;
    if (row >= p.rows || column >= p.columns) return;
    i64 at[kOperands];
#pragma unroll
    for (int k = 0; k < kOperands; ++k) at[k] = row * p.stride[k][0] + column * p.stride[k][1];
    ((Y*)p.data[0])[at[0]] = finish(p, at, sum);
  };
  constexpr int kResults = kRowTile * kColumnTile;
  if (p.splits == 1) {
#pragma unroll 4
    for (int i = threadIdx.x; i < kResults; i += kThreads) put(i, sumOf(i));
    return;
  }
  const i64 parts = (i64)gridDim.x * kResults;  // from one split to the next
  float* const partial = p.partial + (i64)blockIdx.x * kResults;
#pragma unroll 4
  for (int i = threadIdx.x; i < kResults; i += kThreads) partial[blockIdx.y * parts + i] = sumOf(i);
  if (arrive(p.arrived + blockIdx.x) + 1 != (unsigned)p.splits) return;
  if (threadIdx.x == 0) p.arrived[blockIdx.x] = 0;
#pragma unroll 4
  for (int i = threadIdx.x; i < kResults; i += kThreads) {
    float sum = 0.f;
    for (int split = 0; split < p.splits; ++split) sum += loadFresh(partial + split * parts + i);
    put(i, sum);
  }
}
