// Products with experts of f16 and bf16: on tensor cores where rows are whole packs of 16 bytes, else one
// multiplication after another. 8 warps share a tile; the next stage of the inner extent comes while one is multiplied.
#include "experts.cuh"
#include "tensor_core.cuh"

template <int kRows, int kColumns>
__device__ void multiplyHalves(const ExpertParameters& p) {
  constexpr int kPack = 8;
  constexpr int kRowsOfWarps = kRows / 16;
  constexpr int kOwn = kColumns / (kExpertThreads / 32 / kRowsOfWarps);  // columns of a warp
  // A pack more than needed, so that rows lie in different banks.
  __shared__ Pack<X, kPack> a[2][kRows][kHalvesDepth / kPack + 1];
  __shared__ Pack<X, kPack> b[2][kHalvesDepth][kColumns / kPack + 1];
  __shared__ ExpertTile<kRows> tile;
  i64 expert = 0;
  i64 depth = 0;
  if (!takeTile(p, tile, expert, depth)) return;
  const i64 firstColumn = blockIdx.x % p.columnTiles * kColumns;
  const X* const x = (const X*)p.x;
  const X* const weights = (const X*)p.weights + expert * depth * p.columns;
  const auto fetch = [&](int stage, i64 first) {
    constexpr int kOfRow = kHalvesDepth / kPack;
    for (int k = threadIdx.x; k < kRows * kOfRow; k += kExpertThreads) {
      const int row = k / kOfRow;
      const i64 d = first + k % kOfRow * kPack;
      const bool inside = tile.rows[row] >= 0 && d < depth;
      copyAsync(&a[stage][row][k % kOfRow], inside ? x + tile.sources[row] * depth + d : x, inside);
    }
    constexpr int kOfDepth = kColumns / kPack;
    for (int k = threadIdx.x; k < kHalvesDepth * kOfDepth; k += kExpertThreads) {
      const i64 d = first + k / kOfDepth;
      const i64 n = firstColumn + k % kOfDepth * kPack;
      const bool inside = d < depth && n < p.columns;
      copyAsync(&b[stage][k / kOfDepth][k % kOfDepth], inside ? weights + d * p.columns + n : x, inside);
    }
  };
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int row = warp % kRowsOfWarps * 16;
  const int column = warp / kRowsOfWarps * kOwn;
  float sum[kOwn / 8][4] = {};
  int stage = 0;
  if (depth > 0) fetch(0, 0);
  closeCopies();
  for (i64 first = 0; first < depth; first += kHalvesDepth, stage ^= 1) {
    if (first + kHalvesDepth < depth) fetch(stage ^ 1, first + kHalvesDepth);
    closeCopies();
    waitForCopies<1>();
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kHalvesDepth; k += 16) {
      unsigned left[4];
      loadMatrices(left, &a[stage][row + lane % 16][k / kPack + lane / 16]);
#pragma unroll
      for (int n = 0; n < kOwn; n += 16) {
        unsigned right[4];
        loadMatricesTransposed(right, &b[stage][k + lane % 16][(column + n) / kPack + lane / 16]);
        multiplyAdd<X>(sum[n / 8], left, right[0], right[1]);
        multiplyAdd<X>(sum[n / 8 + 1], left, right[2], right[3]);
      }
    }
    __syncthreads();  // the stage has been read
  }
#pragma unroll
  for (int n = 0; n < kOwn / 8; ++n) {
    const i64 at = firstColumn + column + n * 8 + lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const i64 to = tile.rows[row + lane / 4 + 8 * half];
      if (to < 0 || at >= p.columns) continue;
      *(unsigned*)((X*)p.y + to * p.columns + at) = packed<X>(sum[n][2 * half], sum[n][2 * half + 1]);
    }
  }
}

KERNEL(tenon_expert_few_halves, ExpertParameters) { multiplyHalves<kFewExpertRows, kFewExpertColumns>(p); }
KERNEL(tenon_expert_many_halves, ExpertParameters) { multiplyHalves<kManyExpertRows, kExpertColumns>(p); }
