// Attention of few keys by tensor cores of sm_90a: a block has all keys of a head in shared memory, its groups of four
// warps take 64 rows each, or share the keys of 64 rows; a thread's scores are all in registers, so there is one
// softmax and no walk along the keys; it may walk along rows. Heads of 64 columns. X: f16 or bf16; ROW_GROUPS times
// KEY_GROUPS groups; KEYS: of a group, a multiple of 16; MASK: 0 none, 1 the same for all rows, 2 of each row.
#include "attention_heads.cuh"
#include "attention_mask.cuh"
#include "warp_group.cuh"

constexpr int kRowGroups = ROW_GROUPS;
constexpr int kKeyGroups = KEY_GROUPS;
constexpr int kOwn = KEYS;
constexpr int kHeld = kKeyGroups * kOwn;  // keys in shared memory
constexpr int kGroups = kRowGroups * kKeyGroups;
constexpr int kThreads = 128 * kGroups;
constexpr int kRows = 64 * kRowGroups;
constexpr int kWidth = kGroupRow;
constexpr int kPack = 8;                  // elements of 16 bytes
constexpr int kJoinedPitch = kWidth + 8;  // of rows of results in shared memory
constexpr int kLoadedBytes = (kRows + 2 * kHeld) * kWidth * 2;
constexpr int kJoinedBytes = kKeyGroups == 1 ? 0 : kGroups * 64 * kJoinedPitch * 4;
// As groupSharedBytes() says: in front rows of q, k and v, later results of groups; behind them the mask of keys,
// greatest scores and sums of groups.
constexpr int kFrontBytes = kLoadedBytes > kJoinedBytes ? kLoadedBytes : kJoinedBytes;
constexpr int kSharedBytes = kFrontBytes + (kHeld + 2 * kGroups * 64) * 4;

// Registers that a thread needs, as registersFor() of group_attention.cpp says, and so many blocks at least on a
// multiprocessor.
constexpr int kRegisters = kOwn <= 32 ? 72 : kOwn <= 64 ? 96 : kOwn <= (MASK == 2 ? 112 : 128) ? 128 : 168;
constexpr int kResidentBlocks = kThreads * kRegisters > 32768 ? 1 : 65536 / (kThreads * kRegisters);

typedef float Scores[kOwn / 8][4];
typedef float Values[kWidth / 8][4];

// Where a thread stands: rows `row` and row + 8 of the block, columns `pair` and pair + 1 of each 8.
struct Place {
  int lane, rowGroup, keyGroup, warpRow, row, pair;

  __device__ __forceinline__ Place() {
    const int group = threadIdx.x / 128;
    lane = threadIdx.x % 32;
    rowGroup = group / kKeyGroups;
    keyGroup = group % kKeyGroups;
    warpRow = rowGroup * 64 + threadIdx.x % 128 / 32 * 16;
    row = warpRow + lane / 4;
    pair = lane % 4 * 2;
  }
};

// The first rows to shared memory, by all threads; what lies behind `end` becomes 0.
template <int kMany>
__device__ __forceinline__ void copyRows(X* to, const X* from, i64 stride, int end) {
  const int row = (int)(threadIdx.x / 8);
  const int column = (int)(threadIdx.x % 8) * kPack;
  const X* const source = from + row * stride + column;
  X* const target = to + groupOffset(row, column);
#pragma unroll
  for (int i = 0; i < kMany; i += kThreads / 8) {  // the same place of groups of 8 rows
    if (kMany % (kThreads / 8) != 0 && row + i >= kMany) break;
    const bool inside = row + i < end;
    copyAsync(target + i * kWidth, inside ? source + i * stride : from, inside);
  }
}

// The warp's rows of q, from row `first` on, to shared memory; groups that share them share the work.
__device__ __forceinline__ void copyQueries(X* to, const X* from, i64 stride, int first, int end, const Place& at) {
  const int column = at.lane % 8 * kPack;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i % kKeyGroups != at.keyGroup) continue;
    const int row = at.warpRow + 4 * i + at.lane / 8;
    const bool inside = first + row < end;
    copyAsync(to + groupOffset(row, column), inside ? from + (first + row) * stride + column : from, inside);
  }
}

// One step of what follows.
template <bool kMore>
__device__ __forceinline__ void startKeys(Scores& s, const unsigned (&a)[4], const X* b) {
  constexpr int kWhole = kOwn / 64 * 64;
#pragma unroll
  for (int n = 0; n < kWhole; n += 64) GroupProduct<X, 64, kMore>::byColumns(s + n / 8, a, b + n * kWidth);
  if (kOwn % 64 >= 32) GroupProduct<X, 32, kMore>::byColumns(s + kWhole / 8, a, b + kWhole * kWidth);
  if (kOwn % 32 == 16) GroupProduct<X, 16, kMore>::byColumns(s + (kOwn - 16) / 8, a, b + (kOwn - 16) * kWidth);
}

// s = q k^T for the group's keys, which begin at `keys`; in the background.
__device__ __forceinline__ void multiplyKeys(Scores& s, const X* q, const X* keys, const Place& at) {
  unsigned a[kWidth / 16][4];
#pragma unroll
  for (int step = 0; step < kWidth / 16; ++step) {
    loadMatrices(a[step], q + groupOffset(at.warpRow + at.lane % 16, step * 16 + at.lane / 16 * 8));
  }
  openProducts();
  startKeys<false>(s, a[0], keys);
#pragma unroll
  for (int step = 1; step < kWidth / 16; ++step) startKeys<true>(s, a[step], keys + step * 16);
  closeProducts();
}

// Waits for the scores, adds the mask and leaves out keys behind the end. `column`: the thread's first key; `keyMask`:
// of it.
__device__ __forceinline__ void finishScores(Scores& s, const FlashParameters& p, const MaskRows<X>& mask,
                                             const float* keyMask, int column) {
  if (MASK == 1) {
    waitForProducts<0>();
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) {
      const auto two = *(const Pack<float, 2>*)(keyMask + 8 * n);
#pragma unroll
      for (int i = 0; i < 4; ++i) s[n][i] = fmaf(s[n][i], p.scale, two.e[i % 2]);
    }
    return;
  }
  if (MASK == 2) {
    PairOf<X> pairs[kOwn / 8][2];
    mask.load(pairs, column);
    waitForProducts<0>();
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) s[n][i] = fmaf(s[n][i], p.scale, inBaseTwo<X>(pairs[n][i / 2].value(i % 2)));
    }
  } else {
    waitForProducts<0>();
    if (!(p.scale > 0.f)) {
#pragma unroll
      for (int n = 0; n < kOwn / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) s[n][i] *= p.scale;
      }
    }
  }
#pragma unroll
  for (int n = 0; n < kOwn / 8; n += 2) {
    if ((column & ~7) + 8 * n + 16 <= p.keys) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (column + 8 * n + i / 4 * 8 + i % 2 >= p.keys) s[n + i / 4][i % 4] = -infinity();
    }
  }
}

// The greatest scores of the thread's rows, over all groups that share them.
__device__ __forceinline__ void findGreatest(float (&greatest)[2], const Scores& s, float* shared, const Place& at) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float most = -infinity();
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
    most = fmaxf(most, shuffleXor(most, 1));
    greatest[half] = fmaxf(most, shuffleXor(most, 2));
    if (kKeyGroups > 1 && at.pair == 0) shared[at.keyGroup * kRows + at.row + 8 * half] = greatest[half];
  }
  if (kKeyGroups == 1) return;
  __syncthreads();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int k = 0; k < kKeyGroups; ++k) greatest[half] = fmaxf(greatest[half], shared[k * kRows + at.row + 8 * half]);
  }
}

// The thread's rows to the output: lanes of a row exchange pairs of columns until each has 16 bytes.
__device__ __forceinline__ void put(const FlashParameters& p, X* y, const Values& value, const RowFactor (&factor)[2],
                                    int rows, const Place& at) {
  const int turn = at.lane % 4;
  const bool odd = turn % 2 != 0;
  const bool late = turn / 2 != 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = at.row + 8 * half;
#pragma unroll
    for (int c = 0; c < kWidth / 8; c += 4) {
      unsigned own[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const two = value[c + i] + 2 * half;
        own[i] = factor[half].packedOf<X>(two[0], two[1]);
      }
      const unsigned first = shuffleXor(odd ? own[0] : own[1], 1);
      const unsigned second = shuffleXor(odd ? own[2] : own[3], 1);
      const unsigned low[2] = {odd ? first : own[0], odd ? own[1] : first};
      const unsigned high[2] = {odd ? second : own[2], odd ? own[3] : second};
      const unsigned third = shuffleXor(late ? low[0] : high[0], 2);
      const unsigned fourth = shuffleXor(late ? low[1] : high[1], 2);
      const Pack<unsigned, 4> all = {
          {late ? third : low[0], late ? fourth : low[1], late ? high[0] : third, late ? high[1] : fourth}};
      if (row < rows) *(Pack<unsigned, 4>*)(y + row * p.yStride[2] + (c + turn) * 8) = all;
    }
  }
}

// What groups show in shared memory, joined: results, and sums by key group.
__device__ __forceinline__ void putJoined(const FlashParameters& p, X* y, const float* results, const float* sums,
                                          int rows) {
  for (int chunk = threadIdx.x; chunk < kRows * 8; chunk += kThreads) {
    const int row = chunk / 8;
    const int column = chunk % 8 * kPack;
    if (row >= rows) break;
    float value[kPack] = {};
    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < kKeyGroups; ++k) {
      sum += sums[k * kRows + row];
#pragma unroll
      for (int i = 0; i < kPack; i += 4) {
        const auto some = *(const Pack<float, 4>*)(results + (k * kRows + row) * kJoinedPitch + column + i);
#pragma unroll
        for (int e = 0; e < 4; ++e) value[i + e] += some.e[e];
      }
    }
    const RowFactor factor(p, sum);
    Pack<unsigned, 4> all;
#pragma unroll
    for (int i = 0; i < 4; ++i) all.e[i] = factor.packedOf<X>(value[2 * i], value[2 * i + 1]);
    *(Pack<unsigned, 4>*)(y + row * p.yStride[2] + column) = all;
  }
}

// Scores to weights in halves and their sums; `scale` is positive and brings scores to base 2.
__device__ __forceinline__ void weigh(unsigned (&weight)[kOwn / 16][4], float (&sum)[2], const Scores& s,
                                      const float (&greatest)[2], float scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float most = greatest[half] * scale;
    const float origin = most > -infinity() ? most : 0.f;
    sum[half] = 0.f;
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) {
      const float low = powerOfTwo(fmaf(s[n][2 * half], scale, -origin));
      const float high = powerOfTwo(fmaf(s[n][2 * half + 1], scale, -origin));
      sum[half] += low + high;
      weight[n / 2][n % 2 * 2 + half] = packed<X>(low, high);
    }
    sum[half] += shuffleXor(sum[half], 1);
    sum[half] += shuffleXor(sum[half], 2);
  }
}

// value = weights times the group's rows of v; done when it returns.
__device__ __forceinline__ void multiplyValues(Values& value, const unsigned (&weight)[kOwn / 16][4], const X* values) {
  openProducts();
  GroupProduct<X, 64, false>::byRows(value, weight[0], values);
#pragma unroll
  for (int step = 1; step < kOwn / 16; ++step) {
    GroupProduct<X, 64, true>::byRows(value, weight[step], values + step * 16 * kWidth);
  }
  closeProducts();
  waitForProducts<0>();
}

// Results of groups that share rows, joined in shared memory.
__device__ __forceinline__ void join(const FlashParameters& p, X* y, const Values& value, const float (&sum)[2],
                                     float* results, float* sums, int rows, const Place& at) {
  __syncthreads();  // keys and values have been read
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = at.keyGroup * kRows + at.row + 8 * half;
#pragma unroll
    for (int c = 0; c < kWidth / 8; ++c) {
      float* const to = results + row * kJoinedPitch + c * 8 + at.pair;
      *(Pack<float, 2>*)to = {{value[c][2 * half], value[c][2 * half + 1]}};
    }
    if (at.pair == 0) sums[row] = sum[half];
  }
  __syncthreads();
  putJoined(p, y, results, sums, rows);
}

KERNEL_BOUNDED(__launch_bounds__(kThreads, kResidentBlocks), tenon_group_attention, FlashParameters) {
  DYNAMIC_SHARED(memory, kSharedBytes);
  X* const q = (X*)memory;
  X* const k = q + kRows * kWidth;
  X* const v = k + kHeld * kWidth;
  float* const keyMask = (float*)(memory + kFrontBytes);
  float* const greatestScores = keyMask + kHeld;
  float* const sums = greatestScores + kGroups * 64;
  const unsigned headOfAll = blockIdx.x / p.tiles;
  int firstRow = (int)(blockIdx.x - headOfAll * p.tiles.divisor) * p.rowsOfBlock;
  const int endRow = min(firstRow + p.rowsOfBlock, p.queries);
  const i64 batch = headOfAll / p.heads;
  const i64 head = headOfAll - batch * p.heads.divisor;
  const Place at;
  const X* const queries = queriesOf(p, batch, head);
  X* const y = resultsOf(p, batch, head);
  copyQueries(q, queries, p.qStride[2], firstRow, endRow, at);
  copyRows<kHeld>(k, keysOf(p, batch, head), p.kStride[2], p.keys);
  closeCopies();
  copyRows<kHeld>(v, valuesOf(p, batch, head), p.vStride[2], p.keys);
  closeCopies();
  const X* const mask = maskOf(p, batch, head);
  for (int key = threadIdx.x; MASK == 1 && key < kHeld; key += kThreads) {
    const float value = key < p.keys ? Element<X>::load(mask[key * p.maskStride[3]]) : -infinity();
    keyMask[key] = inBaseTwo<X>(value);
  }
  waitForCopies<1>();  // queries and keys are here
  showToProducts();
  __syncthreads();
  const int firstKey = at.keyGroup * kOwn;
  const float ofScores = MASK != 0 || !(p.scale > 0.f) ? 1.f : p.scale;
#pragma unroll 1
  for (bool isFirst = true;; isFirst = false) {
    Scores s;
    multiplyKeys(s, q, k + firstKey * kWidth, at);
    const int row = firstRow + at.row;
    finishScores(s, p, MaskRows<X>(mask, p.maskStride[2], p.maskStride[3], row, p.queries, p.keys, p.maskInPairs != 0),
                 keyMask + firstKey + at.pair, firstKey + at.pair);
    const bool isLast = kKeyGroups > 1 || firstRow + kRows >= endRow;
    if (!isLast) {
      waitForWarp();  // all lanes have read the queries before
      copyQueries(q, queries, p.qStride[2], firstRow + kRows, endRow, at);
    }
    closeCopies();
    float sum[2];
    unsigned weight[kOwn / 16][4];
    float greatest[2];
    findGreatest(greatest, s, greatestScores, at);
    weigh(weight, sum, s, greatest, ofScores);
    if (isFirst) {
      waitForCopies<1>();  // the values are here
      showToProducts();
      __syncthreads();
    }
    Values value;
    multiplyValues(value, weight, v + firstKey * kWidth);
    X* const rows = y + firstRow * p.yStride[2];
    if (kKeyGroups > 1) {
      waitForCopies<0>();
      return join(p, rows, value, sum, (float*)memory, sums, endRow - firstRow, at);
    }
    const RowFactor factor[2] = {{p, sum[0]}, {p, sum[1]}};
    put(p, rows, value, factor, endRow - firstRow, at);
    waitForCopies<0>();  // the warp's next queries are here
    if (isLast) return;
    firstRow += kRows;
    waitForWarp();
  }
}
