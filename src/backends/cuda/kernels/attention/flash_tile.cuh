// Flash attention on tensor cores, up to the scores: what a block has in shared memory, where threads stand, tiles of
// keys and their products with queries. The including text defines X, MATH, KEYS, WIDTH, ROW_WARPS, KEY_WARPS,
// CAPPED (1 where scores have a soft cap), PIECE (elements of rows that lie together, where not all of a copy do, or
// 0).
#pragma once

#include "attention_heads.cuh"
#include "attention_mask.cuh"
#include "tensor_core.cuh"

constexpr int kRowWarps = ROW_WARPS;
constexpr int kKeyWarps = KEY_WARPS;
constexpr int kTile = KEYS;
constexpr int kWidth = WIDTH;
constexpr int kWarps = kRowWarps * kKeyWarps;
constexpr int kThreads = 32 * kWarps;
constexpr int kRows = 16 * kRowWarps;
constexpr int kOwn = kTile / kKeyWarps;                   // keys of a tile that a warp takes
constexpr int kPack = 16 / (int)sizeof(X);                // elements that one copy moves
constexpr int kPiece = PIECE == 0 ? kPack : PIECE;        // elements that lie together in rows
constexpr int kDepth = 2 * kPack;                         // of one product
constexpr int kPitch = kWidth + kPack;                    // of rows in shared memory: neighbours lie in different banks
constexpr int kJoinedPitch = kWidth + 8;                  // of rows of results there
constexpr int kChunks = kWidth / kPack;                   // of 16 bytes in a row
constexpr int kStages = 2;                                // tiles in shared memory
constexpr bool kKeepQueries = kWidth * sizeof(X) <= 256;  // in registers; else they are loaded for each tile
constexpr int kLoadedBytes = (kRows + 2 * kStages * kTile) * kPitch * (int)sizeof(X);
constexpr int kJoinedBytes = kWarps * 16 * (kJoinedPitch + 2) * (int)sizeof(float);
// As FlashChoice::sharedBytes() says.
constexpr int kSharedBytes = kLoadedBytes > kJoinedBytes ? kLoadedBytes : kJoinedBytes;
// Twelve warps or more of a multiprocessor, where their values, scores, queries and mask leave that many registers.
constexpr bool kFewRegisters = sizeof(X) == 2 && kWidth * 3 / 4 + kOwn * 3 / 4 <= 100;
constexpr int kResidentBlocks = !kFewRegisters ? 1 : kThreads > 128 ? 2 : kWidth <= 64 && kOwn <= 32 ? 4 : 3;

// A warp that has all keys writes its rows from registers.
constexpr bool kDirect = kPiece == kPack && kKeyWarps == 1 && sizeof(X) == 2 && kWidth % 32 == 0;

constexpr int kPartialFloats = kRows * (kWidth + 2);  // values, greatest scores, sums of a block

typedef float Scores[kOwn / 8][4];  // as multiplyAdd has them

typedef PairOf<X> MaskPairs[kOwn / 8][2];  // of a row and the one 8 below

// Where a thread stands.
struct Place {
  int warp, rowWarp, keyWarp, lane;
  int group, pair;  // its rows are group and group + 8 of the warp's, its columns pair and pair + 1 of each 8
};

__device__ __forceinline__ Place placeOfThread() {
  Place at;
  at.warp = threadIdx.x / 32;
  at.lane = threadIdx.x % 32;
  at.rowWarp = at.warp / kKeyWarps;
  at.keyWarp = at.warp % kKeyWarps;
  at.group = at.lane / 4;
  at.pair = at.lane % 4 * 2;
  return at;
}

// A pack of shared memory from pieces of a row; what is not there becomes 0.
__device__ __forceinline__ void copyPieces(X* to, const X* from, int there) {
  Pack<X, kPack> all;
#pragma unroll
  for (int j = 0; j < kPack; j += kPiece) {
    Pack<X, kPiece> piece = {};
    if (j < there) piece = *(const Pack<X, kPiece>*)(from + j);
#pragma unroll
    for (int i = 0; i < kPiece; ++i) all.e[j + i] = piece.e[i];
  }
  *(Pack<X, kPack>*)to = all;
}

// Rows [first, first + kMany) to shared memory, by all threads; what lies behind `end` or the width becomes 0.
template <int kMany>
__device__ __forceinline__ void copyRows(X* to, const X* from, i64 stride, int first, int end, int width) {
#pragma unroll
  for (int i = 0; i < (kMany * kChunks + kThreads - 1) / kThreads; ++i) {
    const int chunk = i * kThreads + threadIdx.x;
    if (kMany * kChunks % kThreads != 0 && chunk >= kMany * kChunks) break;
    const int row = chunk / kChunks;
    const int column = chunk % kChunks * kPack;
    const bool inside = first + row < end && column < width;
    X* const place = to + row * kPitch + column;
    const X* const source = from + (inside ? (first + row) * stride + column : 0);
    if (kPiece == kPack) {
      copyAsync(place, source, inside);
    } else {
      copyPieces(place, source, inside ? width - column : 0);
    }
  }
}

// The warp's rows of q as left operands.
struct Queries {
  const X* row;  // this lane's, for loadMatrices
  unsigned kept[kKeepQueries ? kWidth / kDepth : 1][4];

  __device__ __forceinline__ Queries(const X* rows, const Place& at)
      : row(rows + (at.rowWarp * 16 + at.lane % 16) * kPitch + at.lane / 16 * kPack) {
    if (!kKeepQueries) return;
#pragma unroll
    for (int step = 0; step < kWidth / kDepth; ++step) loadMatrices(kept[kKeepQueries ? step : 0], row + step * kDepth);
  }
  __device__ __forceinline__ void operand(int step, unsigned (&a)[4]) const {
    if (!kKeepQueries) return loadMatrices(a, row + step * kDepth);
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = kept[kKeepQueries ? step : 0][i];
  }
};

// s = q k^T for the warp's keys, which begin at `tile`.
__device__ __forceinline__ void multiplyKeys(Scores& s, const Queries& queries, const X* tile, const Place& at) {
  const X* const row = tile + (at.lane / 16 * 8 + at.lane % 8) * kPitch + at.lane / 8 % 2 * kPack;
#pragma unroll
  for (int n = 0; n < kOwn / 8; ++n) s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0.f;
#pragma unroll
  for (int step = 0; step < kWidth / kDepth; ++step) {
    unsigned a[4];
    queries.operand(step, a);
#pragma unroll
    for (int n = 0; n < kOwn / 8; n += 2) {
      unsigned b[4];
      loadMatrices(b, row + n * 8 * kPitch + step * kDepth);
      multiplyAdd<MATH>(s[n], a, b[0], b[1]);
      multiplyAdd<MATH>(s[n + 1], a, b[2], b[3]);
    }
  }
}

// Products to what a soft cap makes of them, up to its own factor.
__device__ __forceinline__ void capScores(Scores& s, float inner) {
#pragma unroll
  for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) s[n][i] = tanhf(s[n][i] * inner);
  }
}

// Whether finishScores brings scores to base 2; else `weigh` does, in passing.
__device__ __forceinline__ bool scaledAtOnce(const FlashParameters& p) { return p.mask != nullptr || !(p.scale > 0.f); }

// The same mask for all rows; `mask`: the thread's first key of the tile.
__device__ __forceinline__ void addKeyMask(Scores& s, float scale, const float* mask) {
#pragma unroll
  for (int n = 0; n < kOwn / 8; ++n) {
    const auto two = *(const Pack<float, 2>*)(mask + 8 * n);
#pragma unroll
    for (int i = 0; i < 4; ++i) s[n][i] = fmaf(s[n][i], scale, two.e[i % 2]);
  }
}

// Leaves out the keys behind each row's own number. `row`: the thread's first.
__device__ __forceinline__ void hideLaterKeys(Scores& s, int row, int column) {
#pragma unroll
  for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column + 8 * n + i % 2 > row + 8 * (i / 2)) s[n][i] = -infinity();
    }
  }
}

// Adds the mask; keys behind the end are left out. `column`: the thread's first.
__device__ __forceinline__ void finishScores(Scores& s, const FlashParameters& p, const MaskPairs& mask, int column) {
  if (p.mask != nullptr) {
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) s[n][i] = fmaf(s[n][i], p.scale, inBaseTwo<X>(mask[n][i / 2].value(i % 2)));
    }
  } else if (scaledAtOnce(p)) {
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) s[n][i] *= p.scale;
    }
  }
  if ((column & ~7) + kOwn <= p.keys) return;
#pragma unroll
  for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column + 8 * n + i % 2 >= p.keys) s[n][i] = -infinity();
    }
  }
}
