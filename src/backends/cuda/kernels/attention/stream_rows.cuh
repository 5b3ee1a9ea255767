// What a warpgroup does with its 64 rows of scores in attention by stages of keys (stream_attention.cuh): masks, the
// softmax that is kept as it goes, results to the output.
#pragma once

#include "attention_heads.cuh"
#include "attention_mask.cuh"

constexpr int kTile = KEYS;
constexpr int kWidth = WIDTH;
constexpr int kNoMask = 0, kMaskOfRows = 1, kMaskOfKeys = 2;  // MASK
// Floats of a stage's mask in shared memory, by kMaskOfKeys; behind the keys stands whether one of them is not 0.
constexpr int kMaskPitch = kTile + kStreamMaskPad;

typedef float Scores[kTile / 8][4];
typedef float Values[kWidth / 8][4];
typedef unsigned Weights[kTile / 16][4];

// Rows of queries of a head, as many as a block takes at once, and stages of keys that they see.
struct Tile {
  i64 batch, head;
  int firstRow, stages;

  __device__ __forceinline__ Tile(const StreamParameters& p, unsigned number) {
    const unsigned headOfAll = number / p.tiles;
    const int place = (int)(number - headOfAll * p.tiles.divisor);
    // Rows that see many keys begin first.
    firstRow = (p.causal != 0 ? (int)p.tiles.divisor - 1 - place : place) * kRows;
    batch = headOfAll / p.heads;
    head = headOfAll - batch * p.heads.divisor;
    const int seen = p.causal != 0 ? min(firstRow + kRows, p.keys) : p.keys;  // by one of the rows
    stages = (seen + kTile - 1) / kTile;
  }
  // The first of the thread's two rows; the other one is 8 below.
  __device__ __forceinline__ int row() const { return firstRow + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4; }
};

// Greatest scores and sums of weights of a thread's two rows; of each 8 columns it has the neighbours from `pair` on.
struct Rows {
  const StreamParameters& p;
  const X* mask;
  int row, pair;
  float greatest[2], sum[2];
  float scale;  // of the scores that weigh() gets

  __device__ __forceinline__ Rows(const StreamParameters& parameters, const Tile& tile)
      : p(parameters), pair(threadIdx.x % 4 * 2) {
    begin(tile);
  }
  __device__ __forceinline__ void begin(const Tile& tile) {
    if (MASK == kMaskOfRows) mask = maskOf(p, tile.batch, tile.head);
    row = tile.row();
    greatest[0] = greatest[1] = -infinity();
    sum[0] = sum[1] = 0.f;
  }
  // Brings in the mask, and leaves out keys behind the end or the row's own number. `keyMask`: of the stage's keys, by
  // MASK; it leaves out keys behind the end.
  __device__ __forceinline__ void finish(Scores& s, int firstKey, const float* keyMask) {
    const int column = firstKey + pair;
    const bool hasMask = MASK == kMaskOfRows || (MASK == kMaskOfKeys && keyMask[kTile] != 0.f);
    const bool scaledAtOnce = hasMask || !(p.scale > 0.f);
    scale = scaledAtOnce ? 1.f : p.scale;
    if (MASK == kMaskOfKeys && hasMask) {
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
        const auto two = *(const Pack<float, 2>*)(keyMask + pair + 8 * n);
#pragma unroll
        for (int i = 0; i < 4; ++i) s[n][i] = fmaf(s[n][i], p.scale, two.e[i % 2]);
      }
    } else if (MASK == kMaskOfRows) {
      const MaskRows<X> rows(mask, p.maskStride[2], p.maskStride[3], row, p.queries, p.keys, p.maskInPairs != 0);
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto two = rows.read(half, column + 8 * n);
#pragma unroll
          for (int i = 0; i < 2; ++i)
            s[n][2 * half + i] = fmaf(s[n][2 * half + i], p.scale, inBaseTwo<X>(two.value(i)));
        }
      }
    } else if (scaledAtOnce) {
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) s[n][i] *= p.scale;
      }
    }
    if (MASK != kMaskOfKeys && firstKey + kTile > p.keys) hide(s, column, p.keys - 1, p.keys - 1);
    if (p.causal != 0 && firstKey + kTile - 1 > row) hide(s, column, row, row + 8);
  }
  // Leaves out the keys behind `last` of the two rows.
  __device__ __forceinline__ static void hide(Scores& s, int column, int last, int lastBelow) {
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (column + 8 * n + i % 2 > (i < 2 ? last : lastBelow)) s[n][i] = -infinity();
      }
    }
  }

  // Scores to weights; `kept`: by what the values so far shrink, as a greater score came.
  __device__ __forceinline__ void weigh(Scores& s, float (&kept)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = -infinity();
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      most = fmaxf(greatest[half], most * scale);
      most = fmaxf(most, shuffleXor(most, 1));
      most = fmaxf(most, shuffleXor(most, 2));
      const float origin = most > -infinity() ? most : 0.f;
      kept[half] = powerOfTwo(greatest[half] - origin);
      greatest[half] = most;
      float added[2] = {};
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          auto& score = s[n][2 * half + i];
          score = powerOfTwo(fmaf(score, scale, -origin));
          added[i] += score;
        }
      }
      sum[half] = sum[half] * kept[half] + (added[0] + added[1]);
    }
  }
};

// Results of a thread's two rows, of which the first is `row`, to the output: lanes of a row exchange pairs of columns
// until each has 16 bytes; what is left of 16 columns as pairs. `sum`: of this lane's weights.
__device__ __forceinline__ void putRows(const StreamParameters& p, const Tile& tile, const float (&sum)[2],
                                        const Values& value) {
  constexpr int kExchanged = kWidth / 32 * 4;
  X* const y = resultsOf(p, tile.batch, tile.head);
  const int row = tile.row();
  const int turn = threadIdx.x % 4;
  const bool odd = turn % 2 != 0;
  const bool late = turn / 2 != 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float whole = sum[half] + shuffleXor(sum[half], 1);
    const RowFactor factor(p, whole + shuffleXor(whole, 2));
    X* const to = y + (row + 8 * half) * p.yStride[2];
    const bool inside = row + 8 * half < p.queries;
#pragma unroll
    for (int c = 0; c < kExchanged; c += 4) {
      unsigned own[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) own[i] = factor.packedOf<X>(value[c + i][2 * half], value[c + i][2 * half + 1]);
      const unsigned first = shuffleXor(odd ? own[0] : own[1], 1);
      const unsigned second = shuffleXor(odd ? own[2] : own[3], 1);
      const unsigned low[2] = {odd ? first : own[0], odd ? own[1] : first};
      const unsigned high[2] = {odd ? second : own[2], odd ? own[3] : second};
      const unsigned third = shuffleXor(late ? low[0] : high[0], 2);
      const unsigned fourth = shuffleXor(late ? low[1] : high[1], 2);
      const Pack<unsigned, 4> all = {
          {late ? third : low[0], late ? fourth : low[1], late ? high[0] : third, late ? high[1] : fourth}};
      const int column = (c + turn) * 8;
      if (inside && column < p.width) *(Pack<unsigned, 4>*)(to + column) = all;
    }
#pragma unroll
    for (int c = kExchanged; c < kWidth / 8; ++c) {
      const unsigned two = factor.packedOf<X>(value[c][2 * half], value[c][2 * half + 1]);
      if (inside && c * 8 < p.width) *(unsigned*)(to + c * 8 + 2 * turn) = two;
    }
  }
}

__device__ __forceinline__ void pack(Weights& weight, const Scores& s) {
#pragma unroll
  for (int n = 0; n < kTile / 8; ++n) {
    weight[n / 2][n % 2 * 2] = packed<X>(s[n][0], s[n][1]);
    weight[n / 2][n % 2 * 2 + 1] = packed<X>(s[n][2], s[n][3]);
  }
}

__device__ __forceinline__ void shrink(Values& value, const float (&kept)[2]) {
#pragma unroll
  for (int c = 0; c < kWidth / 8; ++c) {
#pragma unroll
    for (int i = 0; i < 4; ++i) value[c][i] *= kept[i / 2];
  }
}
