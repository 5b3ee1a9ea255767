// Flash attention: a block takes some query rows of a head and reads tiles of keys by double-buffered copies in the
// background; scores stay in registers, their softmax is kept as it goes. ROW_WARPS times KEY_WARPS warps: each has 16
// rows and its part of the keys of every tile, and the parts are joined at the end. Where rows are few, blocks share
// the keys of a head (gridDim.y), and the last one to be ready joins what they have. X: element type; MATH: f16, bf16,
// tf32 or f32; KEYS: of a tile; WIDTH: columns of a head, rounded up to a multiple of 16.
#include "flash_tile.cuh"

// The weighted sum of values so far, and the softmax's own.
struct Result {
  float value[kWidth / 8][4];
  float greatest[2];  // per row
  float sum[2];       // of this thread's columns

  __device__ __forceinline__ Result() {
#pragma unroll
    for (int c = 0; c < kWidth / 8; ++c) value[c][0] = value[c][1] = value[c][2] = value[c][3] = 0.f;
    greatest[0] = greatest[1] = -infinity();
    sum[0] = sum[1] = 0.f;
  }

  // Scores to weights; what is here shrinks when a greater score came. `scale` is positive and brings scores to base 2.
  __device__ __forceinline__ void weigh(Scores& s, float scale) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = -infinity();
#pragma unroll
      for (int n = 0; n < kOwn / 8; ++n) most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      most = fmaxf(greatest[half], most * scale);
      most = fmaxf(most, shuffleXor(most, 1));
      most = fmaxf(most, shuffleXor(most, 2));
      const float origin = most > -infinity() ? most : 0.f;
      const float kept = powerOfTwo(greatest[half] - origin);
      greatest[half] = most;
      sum[half] *= kept;
#pragma unroll
      for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) sum[half] += s[n][i] = powerOfTwo(fmaf(s[n][i], scale, -origin));
      }
#pragma unroll
      for (int c = 0; c < kWidth / 8; ++c) {
        value[c][2 * half] *= kept;
        value[c][2 * half + 1] *= kept;
      }
    }
  }

  // Weights times the warp's rows of v, which begin at `tile`.
  __device__ __forceinline__ void addValues(const Scores& weight, const f32* tile, const Place& at) {
    // The order of keys within a product is free: column k of the left operand is key 2 k, column k + 4 is key 2 k + 1.
    // So is that of columns within two products: those of one are even columns of 16, those of the other odd ones.
    const f32* const row = tile + at.pair * kPitch + 2 * at.group;
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) {
      const unsigned a[4] = {bitsOf(weight[n][0]), bitsOf(weight[n][2]), bitsOf(weight[n][1]), bitsOf(weight[n][3])};
#pragma unroll
      for (int c = 0; c < kWidth / 8; c += 2) {
        const f32* const b = row + n * 8 * kPitch + c * 8;
        const auto first = *(const Pack<f32, 2>*)b;
        const auto second = *(const Pack<f32, 2>*)(b + kPitch);
#pragma unroll
        for (int odd = 0; odd < 2; ++odd)
          multiplyAdd<MATH>(value[c + odd], a, bitsOf(first.e[odd]), bitsOf(second.e[odd]));
      }
    }
  }
  template <typename H>
  __device__ __forceinline__ void addValues(const Scores& weight, const H* tile, const Place& at) {
    const H* const row = tile + at.lane % 16 * kPitch + at.lane / 16 * 8;
#pragma unroll
    for (int n = 0; n < kOwn / 8; n += 2) {
      const auto& low = weight[n];
      const auto& high = weight[n + 1];
      const unsigned a[4] = {packed<H>(low[0], low[1]), packed<H>(low[2], low[3]), packed<H>(high[0], high[1]),
                             packed<H>(high[2], high[3])};
#pragma unroll
      for (int c = 0; c < kWidth / 8; c += 2) {
        unsigned b[4];
        loadMatricesTransposed(b, row + n * 8 * kPitch + c * 8);
        multiplyAdd<MATH>(value[c], a, b[0], b[1]);
        multiplyAdd<MATH>(value[c + 1], a, b[2], b[3]);
      }
    }
  }

  // The warp's rows to the output (of halves): lanes of a row exchange pairs of columns until each has 16 bytes.
  __device__ __forceinline__ void put(const FlashParameters&, f32*, int, const Place&) const {}
  template <typename H>
  __device__ __forceinline__ void put(const FlashParameters& p, H* y, int rows, const Place& at) const {
    const int turn = at.lane % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float whole = sum[half] + shuffleXor(sum[half], 1);
      whole += shuffleXor(whole, 2);
      const RowFactor factor(p, whole);
      const int row = at.rowWarp * 16 + at.group + 8 * half;
#pragma unroll
      for (int c = 0; c < kWidth / 8 / 4 * 4; c += 4) {
        unsigned own[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) own[i] = factor.packedOf<H>(value[c + i][2 * half], value[c + i][2 * half + 1]);
        const bool odd = turn % 2 != 0;
        const unsigned first = shuffleXor(odd ? own[0] : own[1], 1);
        const unsigned second = shuffleXor(odd ? own[2] : own[3], 1);
        const unsigned low[2] = {odd ? first : own[0], odd ? own[1] : first};
        const unsigned high[2] = {odd ? second : own[2], odd ? own[3] : second};
        const bool late = turn / 2 != 0;
        const unsigned third = shuffleXor(late ? low[0] : high[0], 2);
        const unsigned fourth = shuffleXor(late ? low[1] : high[1], 2);
        const Pack<unsigned, 4> all = late ? Pack<unsigned, 4>{{third, fourth, high[0], high[1]}}
                                           : Pack<unsigned, 4>{{low[0], low[1], third, fourth}};
        const int column = (c + turn) * 8;
        if (row < rows && column < p.width) *(Pack<unsigned, 4>*)(y + row * p.yStride[2] + column) = all;
      }
    }
  }

  // To shared memory: values of all warps, then their greatest scores, then their sums.
  __device__ __forceinline__ void show(float* memory, const Place& at) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = at.warp * 16 + at.group + 8 * half;
#pragma unroll
      for (int c = 0; c < kWidth / 8; c += 2) {
        const float* const low = value[c] + 2 * half;
        const float* const high = value[c + 1] + 2 * half;
        float* const to = memory + row * kJoinedPitch + c * 8;
        if (sizeof(X) == 4) {  // even and odd columns, as addValues() has them
          *(Pack<float, 4>*)(to + 2 * at.pair) = {{low[0], high[0], low[1], high[1]}};
        } else {
          *(Pack<float, 2>*)(to + at.pair) = {{low[0], low[1]}};
          *(Pack<float, 2>*)(to + 8 + at.pair) = {{high[0], high[1]}};
        }
      }
      float whole = sum[half] + shuffleXor(sum[half], 1);
      whole += shuffleXor(whole, 2);
      if (at.pair != 0) continue;
      memory[kWarps * 16 * kJoinedPitch + row] = greatest[half];
      memory[kWarps * 16 * (kJoinedPitch + 1) + row] = whole;
    }
  }
};

// Neighbouring columns of a row: values and sum relative to the greatest score.
struct Columns {
  float value[kPack];
  float greatest;
  float sum;

  __device__ __forceinline__ Pack<X, kPack> finished(const FlashParameters& p) const {
    const bool isZero = p.keys == 0 || (p.emptyIsZero && !(sum > 0.f));
    const float inverse = 1.f / sum;
    Pack<X, kPack> result;
#pragma unroll
    for (int i = 0; i < kPack; ++i)
      result.e[i] = Element<X>::store(isZero ? (sum == 0.f ? value[i] : 0.f) : value[i] * inverse);
    return result;
  }
};

// What a warp showed in shared memory.
struct WarpShares {
  const float* memory;
  int row;  // of the first warp
  int column;

  __device__ __forceinline__ float greatest(int share) const {
    return memory[kWarps * 16 * kJoinedPitch + row + 16 * share];
  }
  __device__ __forceinline__ float sum(int share) const {
    return memory[kWarps * 16 * (kJoinedPitch + 1) + row + 16 * share];
  }
  __device__ __forceinline__ Pack<float, 4> values(int share, int i) const {
    return *(const Pack<float, 4>*)(memory + (row + 16 * share) * kJoinedPitch + column + i);
  }
};

// What a block left in global memory.
struct BlockShares {
  const float* memory;
  i64 step;  // from one share to the next
  int row;
  int column;

  __device__ __forceinline__ float greatest(int share) const {
    return loadFresh(memory + share * step + kRows * kWidth + row);
  }
  __device__ __forceinline__ float sum(int share) const {
    return loadFresh(memory + share * step + kRows * (kWidth + 1) + row);
  }
  __device__ __forceinline__ Pack<float, 4> values(int share, int i) const {
    const float* const at = memory + share * step + row * kWidth + column + i;
    return {{loadFresh(at), loadFresh(at + 1), loadFresh(at + 2), loadFresh(at + 3)}};
  }
};

template <typename Shares>
__device__ __forceinline__ Columns joined(const Shares& shares, int count) {
  Columns to = {};
  to.greatest = -infinity();
#pragma unroll
  for (int k = 0; k < count; ++k) to.greatest = fmaxf(to.greatest, shares.greatest(k));
  const float origin = to.greatest > -infinity() ? to.greatest : 0.f;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const float part = powerOfTwo(shares.greatest(k) - origin);
    to.sum += part * shares.sum(k);
#pragma unroll
    for (int i = 0; i < kPack; i += 4) {
      const auto some = shares.values(k, i);
#pragma unroll
      for (int e = 0; e < 4; ++e) to.value[i + e] += part * some.e[e];
    }
  }
  return to;
}

// 16 bytes of one of the block's rows, as its threads take turns at them.
struct Chunk {
  int index, row, column;

  __device__ __forceinline__ explicit Chunk(int index)
      : index(index), row(index / kChunks), column(index % kChunks * kPack) {}
  __device__ __forceinline__ bool valid() const { return index < kRows * kChunks; }
  __device__ __forceinline__ bool inside(int rows, int width) const { return row < rows && column < width; }
  __device__ __forceinline__ Chunk next() const { return Chunk(index + kThreads); }
  __device__ __forceinline__ Columns ofWarps(const float* memory) const {
    return joined(WarpShares{memory, row / 16 * kKeyWarps * 16 + row % 16, column}, kKeyWarps);
  }
  __device__ __forceinline__ void put(const FlashParameters& p, X* y, const Columns& columns) const {
    const auto all = columns.finished(p);
    X* const to = y + row * p.yStride[2] + column;
    if (kPiece == kPack) {
      *(Pack<X, kPack>*)to = all;
    } else {
#pragma unroll
      for (int j = 0; j < kPack; j += kPiece) {
        Pack<X, kPiece> piece;
#pragma unroll
        for (int i = 0; i < kPiece; ++i) piece.e[i] = all.e[(j + i) % kPack];
        if (column + j < p.width) *(Pack<X, kPiece>*)(to + j) = piece;
      }
    }
  }
};

// The block's rows from what its warps showed to the output, or joined with those of other blocks.
__device__ __forceinline__ void finishRows(const FlashParameters& p, const float* memory, X* y, int rows) {
  const bool alone = gridDim.y == 1;
  const i64 step = (i64)gridDim.x * kPartialFloats;
  float* const all = p.partial + (i64)blockIdx.x * kPartialFloats;
  float* const mine = all + blockIdx.y * step;
  for (Chunk chunk(threadIdx.x); chunk.valid(); chunk = chunk.next()) {
    if (!chunk.inside(rows, p.width)) continue;
    const Columns columns = chunk.ofWarps(memory);
    if (alone) {
      chunk.put(p, y, columns);
      continue;
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) mine[chunk.row * kWidth + chunk.column + i] = columns.value[i];
    if (chunk.column != 0) continue;
    mine[kRows * kWidth + chunk.row] = columns.greatest;
    mine[kRows * (kWidth + 1) + chunk.row] = columns.sum;
  }
  if (alone || arrive(p.arrived + blockIdx.x) + 1 != gridDim.y) return;
  if (threadIdx.x == 0) p.arrived[blockIdx.x] = 0;
  for (Chunk chunk(threadIdx.x); chunk.valid(); chunk = chunk.next()) {
    if (!chunk.inside(rows, p.width)) continue;
    chunk.put(p, y, joined(BlockShares{all, step, chunk.row, chunk.column}, (int)gridDim.y));
  }
}

KERNEL_BOUNDED(__launch_bounds__(kThreads, kResidentBlocks), tenon_flash_attention, FlashParameters) {
  DYNAMIC_SHARED(memory, kSharedBytes);
  X* const q = (X*)memory;
  X* const k = q + kRows * kPitch;
  X* const v = k + kStages * kTile * kPitch;
  const unsigned headOfAll = blockIdx.x / p.tiles;
  const int firstRow = (int)(blockIdx.x - headOfAll * p.tiles.divisor) * kRows;
  const i64 batch = headOfAll / p.heads;
  const i64 head = headOfAll - batch * p.heads.divisor;
  const int firstKey = blockIdx.y * p.keysOfBlock;
  const int seen = p.causal != 0 ? min(firstRow + kRows, p.keys) : p.keys;  // by one of the rows
  const int end = min(firstKey + p.keysOfBlock, seen);
  const X* const keys = keysOf(p, batch, head);
  const X* const values = valuesOf(p, batch, head);

  // Two groups of copies per tile, keys and values; groups without copies keep the count.
  const auto copyTile = [&](int first) {
    const int stage = first / kTile % kStages * kTile * kPitch;
    if (first < end) copyRows<kTile>(k + stage, keys, p.kStride[2], first, end, p.width);
    closeCopies();
    if (first < end) copyRows<kTile>(v + stage, values, p.vStride[2], first, end, p.width);
    closeCopies();
  };
  copyRows<kRows>(q, queriesOf(p, batch, head), p.qStride[2], firstRow, p.queries, p.width);
  copyTile(firstKey);

  const Place at = placeOfThread();
  const X* const maskOfHead = maskOf(p, batch, head);
  const int maskRow = firstRow + at.rowWarp * 16 + at.group;
  const MaskRows<X> mask(maskOfHead, p.maskStride[2], p.maskStride[3], maskRow, p.queries, p.keys, p.maskInPairs != 0);
  MaskPairs pairs;
  alignas(8) __shared__ float keyMasks[2][kTile];
  const bool byKey = p.mask != nullptr && p.maskStride[2] == 0;
  const bool byRow = p.mask != nullptr && !byKey;
  KeyMask<X, kTile> keyMask{maskOfHead, p.maskStride[3], p.keys};
  if (byRow) mask.load(pairs, firstKey + at.keyWarp * kOwn + at.pair);
  if (byKey) {
    keyMask.load(firstKey);
    keyMask.store(keyMasks[firstKey / kTile % 2]);
  }
  waitForCopies<1>();
  __syncthreads();
  const Queries queries(q, at);
  Result result;
  const float ofScores = scaledAtOnce(p) ? 1.f : p.scale;
  for (int first = firstKey; first < end; first += kTile) {
    const int own = (first / kTile % kStages * kTile + at.keyWarp * kOwn) * kPitch;
    const int column = first + at.keyWarp * kOwn + at.pair;
    waitForCopies<1>();  // the keys are here
    __syncthreads();
    copyTile(first + kTile);  // where the tile before this one was
    if (byKey) keyMask.load(first + kTile);
    Scores s;
    multiplyKeys(s, queries, k + own, at);
    if (CAPPED != 0) capScores(s, p.inner);
    if (byKey) {
      addKeyMask(s, p.scale, keyMasks[first / kTile % 2] + at.keyWarp * kOwn + at.pair);
    } else {
      finishScores(s, p, pairs, column);
    }
    if (p.causal != 0 && column + kOwn > maskRow) hideLaterKeys(s, maskRow, column);
    if (byRow) mask.load(pairs, column + kTile);
    result.weigh(s, ofScores);
    if (byKey) keyMask.store(keyMasks[(first / kTile + 1) % 2]);
    waitForCopies<2 * (kStages - 1)>();  // the values are here
    __syncthreads();
    result.addValues(s, v + own, at);
  }
  X* const y = resultsOf(p, batch, head) + firstRow * p.yStride[2];
  waitForCopies<0>();
  if (kDirect && gridDim.y == 1) return result.put(p, y, p.queries - firstRow, at);
  __syncthreads();
  result.show((float*)memory, at);
  __syncthreads();
  finishRows(p, (const float*)memory, y, p.queries - firstRow);
}
