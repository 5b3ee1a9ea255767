// Attention by tensor cores: a block takes some rows of a head and walks the keys in tiles that arrive in the background;
// scores stay in registers, their softmax is kept as it goes. ROW_WARPS times KEY_WARPS warps: each has 16 rows and its
// part of the keys of every tile, and the parts are joined at the end. Where rows are few, blocks share the keys of a head
// (gridDim.y), and the last one to be ready joins what they have. X: element type; MATH: f16, bf16, tf32 or f32; KEYS: of
// a tile; WIDTH: columns of a head, rounded up to a multiple of 16.
#include "attention_mask.cuh"
#include "tensor_core.cuh"

struct Parameters {
  const X* q;
  const X* k;
  const X* v;
  const X* mask;     // null: none
  X* y;
  float* partial;    // with blocks that share keys: [share][block][kPartialFloats]
  unsigned* arrived; // of each block of rows: shares that are there; 0 between launches
  Divider tiles;     // blocks of a head
  Divider heads;
  int queries;
  int keys;
  int keysOfBlock;   // a multiple of KEYS
  int width;         // a multiple of 8
  int maskInPairs;   // neighbouring keys of the mask can be read at once
  int emptyIsZero;   // a row without a sum is 0
  float scale;       // of scores in base 2
  i64 qStride[3];    // batch, head, row: multiples of 16 bytes
  i64 kStride[3];
  i64 vStride[3];
  i64 yStride[3];
  i64 maskStride[4]; // batch, head, query, key; 0 where it broadcasts
};

constexpr int kRowWarps = ROW_WARPS;
constexpr int kKeyWarps = KEY_WARPS;
constexpr int kTile = KEYS;
constexpr int kWidth = WIDTH;
constexpr int kWarps = kRowWarps * kKeyWarps;
constexpr int kThreads = 32 * kWarps;
constexpr int kRows = 16 * kRowWarps;
constexpr int kOwn = kTile / kKeyWarps;           // keys of a tile that a warp takes
constexpr int kPack = 16 / (int)sizeof(X);        // elements that one copy moves
constexpr int kDepth = 2 * kPack;                 // of one product
constexpr int kPitch = kWidth + kPack;            // of rows in shared memory: neighbours lie in different banks
constexpr int kJoinedPitch = kWidth + 8;          // of rows of results there
constexpr int kChunks = kWidth / kPack;           // of 16 bytes in a row
constexpr int kStages = 2;                        // tiles in shared memory
constexpr bool kKeepQueries = kWidth * sizeof(X) <= 256;  // in registers; else they are loaded for each tile
constexpr int kLoadedBytes = (kRows + 2 * kStages * kTile) * kPitch * (int)sizeof(X);
constexpr int kJoinedBytes = kWarps * 16 * (kJoinedPitch + 2) * (int)sizeof(float);
// As in run/flash_attention.cpp.
constexpr int kSharedBytes = kLoadedBytes > kJoinedBytes ? kLoadedBytes : kJoinedBytes;
// Twelve warps or more of a multiprocessor, where their values, scores, queries and mask leave that many registers.
constexpr bool kFewRegisters = sizeof(X) == 2 && kWidth * 3 / 4 + kOwn * 3 / 4 <= 100;
constexpr int kResidentBlocks = kFewRegisters ? (kThreads > 128 ? 2 : 3) : 1;

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
    copyAsync(to + row * kPitch + column, from + (inside ? (first + row) * stride + column : 0), inside);
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

// Scores in base 2, with the mask; keys behind the end are left out. `column`: the thread's first.
__device__ __forceinline__ void finishScores(Scores& s, const Parameters& p, const MaskPairs& mask, int column) {
#pragma unroll
  for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) s[n][i] *= p.scale;
  }
  if (p.mask != nullptr) {
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) s[n][i] += inBaseTwo(mask[n][i / 2].value(i % 2));
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

  // Scores to weights; what is here shrinks when a greater score came.
  __device__ __forceinline__ void weigh(Scores& s) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = greatest[half];
#pragma unroll
      for (int n = 0; n < kOwn / 8; ++n) most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      most = fmaxf(most, shuffleXor(most, 1));
      most = fmaxf(most, shuffleXor(most, 2));
      const float origin = most > -infinity() ? most : 0.f;
      const float kept = powerOfTwo(greatest[half] - origin);
      greatest[half] = most;
      sum[half] *= kept;
#pragma unroll
      for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) sum[half] += s[n][i] = powerOfTwo(s[n][i] - origin);
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
    const f32* const row = tile + at.pair * kPitch + at.group;
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) {
      const unsigned a[4] = {bitsOf(weight[n][0]), bitsOf(weight[n][2]), bitsOf(weight[n][1]), bitsOf(weight[n][3])};
#pragma unroll
      for (int c = 0; c < kWidth / 8; ++c) {
        const f32* const b = row + n * 8 * kPitch + c * 8;
        multiplyAdd<MATH>(value[c], a, bitsOf(b[0]), bitsOf(b[kPitch]));
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

  // To shared memory: values of all warps, then their greatest scores, then their sums.
  __device__ __forceinline__ void show(float* memory, const Place& at) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = at.warp * 16 + at.group + 8 * half;
#pragma unroll
      for (int c = 0; c < kWidth / 8; ++c) {
        float* const to = memory + row * kJoinedPitch + c * 8 + at.pair;
        *(Pack<float, 2>*)to = {{value[c][2 * half], value[c][2 * half + 1]}};
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

  __device__ __forceinline__ Pack<X, kPack> finished(const Parameters& p) const {
    const bool isZero = p.keys == 0 || (p.emptyIsZero && !(sum > 0.f));
    const float inverse = 1.f / sum;
    Pack<X, kPack> result;
#pragma unroll
    for (int i = 0; i < kPack; ++i) result.e[i] = Element<X>::store(isZero ? 0.f : value[i] * inverse);
    return result;
  }
};

// What a warp showed in shared memory.
struct WarpShares {
  const float* memory;
  int row;     // of the first warp
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

  __device__ __forceinline__ explicit Chunk(int index) : index(index), row(index / kChunks), column(index % kChunks * kPack) {}
  __device__ __forceinline__ bool valid() const { return index < kRows * kChunks; }
  __device__ __forceinline__ bool inside(int rows, int width) const { return row < rows && column < width; }
  __device__ __forceinline__ Chunk next() const { return Chunk(index + kThreads); }
  __device__ __forceinline__ Columns ofWarps(const float* memory) const {
    return joined(WarpShares{memory, row / 16 * kKeyWarps * 16 + row % 16, column}, kKeyWarps);
  }
  __device__ __forceinline__ void put(const Parameters& p, X* y, const Columns& columns) const {
    *(Pack<X, kPack>*)(y + row * p.yStride[2] + column) = columns.finished(p);
  }
};

// The block's rows from what its warps showed to the output, or joined with those of other blocks.
__device__ __forceinline__ void finishRows(const Parameters& p, const float* memory, X* y, int rows) {
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

KERNEL_BOUNDED(__launch_bounds__(kThreads, kResidentBlocks), tenon_flash_attention, Parameters) {
  DYNAMIC_SHARED(memory, kSharedBytes);
  X* const q = (X*)memory;
  X* const k = q + kRows * kPitch;
  X* const v = k + kStages * kTile * kPitch;
  const unsigned headOfAll = p.tiles.quotient(blockIdx.x);
  const int firstRow = (int)(blockIdx.x - headOfAll * p.tiles.divisor) * kRows;
  const i64 batch = p.heads.quotient(headOfAll);
  const i64 head = headOfAll - batch * p.heads.divisor;
  const int firstKey = blockIdx.y * p.keysOfBlock;
  const int end = min(firstKey + p.keysOfBlock, p.keys);
  const X* const keys = p.k + batch * p.kStride[0] + head * p.kStride[1];
  const X* const values = p.v + batch * p.vStride[0] + head * p.vStride[1];

  // Two groups of copies per tile, keys and values; groups without copies keep the count.
  const auto copyTile = [&](int first) {
    const int stage = first / kTile % kStages * kTile * kPitch;
    if (first < end) copyRows<kTile>(k + stage, keys, p.kStride[2], first, end, p.width);
    closeCopies();
    if (first < end) copyRows<kTile>(v + stage, values, p.vStride[2], first, end, p.width);
    closeCopies();
  };
  copyRows<kRows>(q, p.q + batch * p.qStride[0] + head * p.qStride[1], p.qStride[2], firstRow, p.queries, p.width);
  copyTile(firstKey);

  const Place at = placeOfThread();
  const X* const maskOfHead = p.mask + batch * p.maskStride[0] + head * p.maskStride[1];
  const int maskRow = firstRow + at.rowWarp * 16 + at.group;
  const MaskRows<X> mask(maskOfHead, p.maskStride[2], p.maskStride[3], maskRow, p.queries, p.keys, p.maskInPairs != 0);
  MaskPairs pairs;
  if (p.mask != nullptr) mask.load(pairs, firstKey + at.keyWarp * kOwn + at.pair);
  waitForCopies<1>();
  __syncthreads();
  const Queries queries(q, at);
  Result result;
  for (int first = firstKey; first < end; first += kTile) {
    const int own = (first / kTile % kStages * kTile + at.keyWarp * kOwn) * kPitch;
    const int column = first + at.keyWarp * kOwn + at.pair;
    waitForCopies<1>();  // the keys are here
    __syncthreads();
    copyTile(first + kTile);  // where the tile before this one was
    Scores s;
    multiplyKeys(s, queries, k + own, at);
    finishScores(s, p, pairs, column);
    if (p.mask != nullptr) mask.load(pairs, column + kTile);
    result.weigh(s);
    waitForCopies<2 * (kStages - 1)>();  // the values are here
    __syncthreads();
    result.addValues(s, v + own, at);
  }
  waitForCopies<0>();
  __syncthreads();
  result.show((float*)memory, at);
  __syncthreads();
  X* const y = p.y + batch * p.yStride[0] + head * p.yStride[1] + firstRow * p.yStride[2];
  finishRows(p, (const float*)memory, y, p.queries - firstRow);
}
