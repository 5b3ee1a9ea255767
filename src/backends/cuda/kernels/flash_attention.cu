// Attention of f16 or bf16 by tensor cores: a block takes some rows of a head and walks the keys in tiles that arrive in
// the background; scores stay in registers, their softmax is kept as it goes. ROW_WARPS times KEY_WARPS warps: each has 16
// rows and its part of the keys of every tile, and the parts are joined at the end. X: element type; KEYS: of a tile;
// WIDTH: columns of a head, rounded up to a multiple of 16.
#include "tensor_core.cuh"

struct Parameters {
  const X* q;
  const X* k;
  const X* v;
  const X* mask;     // null: none
  X* y;
  Divider tiles;     // blocks of a head
  Divider heads;
  int queries;
  int keys;
  int width;         // a multiple of 8
  int maskInPairs;   // neighbouring keys of the mask can be read at once
  int emptyIsZero;   // a row without a sum is 0
  float scale;       // of scores in base 2
  i64 qStride[3];    // batch, head, row: multiples of 8
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
constexpr int kPitch = kWidth + 8;                // of rows in shared memory: neighbours lie in different banks
constexpr int kChunks = kWidth / 8;               // of 16 bytes in a row
constexpr int kStages = 2;                        // tiles in shared memory
constexpr bool kKeepQueries = kWidth <= 128;      // in registers; else they are loaded for each tile
constexpr int kLoadedBytes = (kRows + 2 * kStages * kTile) * kPitch * (int)sizeof(X);
constexpr int kJoinedBytes = kWarps * 16 * (kPitch + 2) * (int)sizeof(float);
// As in run/flash_attention.cpp.
constexpr int kSharedBytes = kLoadedBytes > kJoinedBytes ? kLoadedBytes : kJoinedBytes;
constexpr float kBaseTwo = 1.44269504f;

typedef float Scores[kOwn / 8][4];      // as multiplyAdd has them
typedef unsigned MaskPairs[kOwn / 8][2];

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
    const int column = chunk % kChunks * 8;
    const bool inside = first + row < end && column < width;
    copyAsync(to + row * kPitch + column, from + (inside ? (first + row) * stride + column : 0), inside);
  }
}

// The warp's rows of q as left operands.
struct Queries {
  const X* row;  // this lane's, for loadMatrices
  unsigned kept[kKeepQueries ? kWidth / 16 : 1][4];

  __device__ __forceinline__ Queries(const X* rows, const Place& at) : row(rows + (at.rowWarp * 16 + at.lane % 16) * kPitch + at.lane / 16 * 8) {
    if (!kKeepQueries) return;
#pragma unroll
    for (int step = 0; step < kWidth / 16; ++step) loadMatrices(kept[kKeepQueries ? step : 0], row + step * 16);
  }
  __device__ __forceinline__ void operand(int step, unsigned (&a)[4]) const {
    if (!kKeepQueries) return loadMatrices(a, row + step * 16);
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = kept[kKeepQueries ? step : 0][i];
  }
};

// s = q k^T for the warp's keys, which begin at `tile`.
__device__ __forceinline__ void multiplyKeys(Scores& s, const Queries& queries, const X* tile, const Place& at) {
  const X* const row = tile + (at.lane / 16 * 8 + at.lane % 8) * kPitch + at.lane / 8 % 2 * 8;
#pragma unroll
  for (int n = 0; n < kOwn / 8; ++n) s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0.f;
#pragma unroll
  for (int step = 0; step < kWidth / 16; ++step) {
    unsigned a[4];
    queries.operand(step, a);
#pragma unroll
    for (int n = 0; n < kOwn / 8; n += 2) {
      unsigned b[4];
      loadMatrices(b, row + n * 8 * kPitch + step * 16);
      multiplyAdd<X>(s[n], a, b[0], b[1]);
      multiplyAdd<X>(s[n + 1], a, b[2], b[3]);
    }
  }
}

// The mask at the thread's two rows.
struct Mask {
  const unsigned short* row[2];
  i64 stride;
  int keys;
  bool pairs, same;

  __device__ __forceinline__ Mask(const Parameters& p, i64 batch, i64 head, int firstRow) : stride(p.maskStride[3]), keys(p.keys) {
    if (p.mask == nullptr) return;
    const auto* const first = (const unsigned short*)p.mask + batch * p.maskStride[0] + head * p.maskStride[1];
    for (int half = 0; half < 2; ++half) row[half] = first + min(firstRow + 8 * half, p.queries - 1) * p.maskStride[2];
    pairs = p.maskInPairs != 0;
    same = p.maskStride[2] == 0;
  }
  __device__ __forceinline__ unsigned read(int half, int column) const {
    if (column >= keys) return 0;
    if (pairs) return *(const unsigned*)(row[half] + column);
    const unsigned low = row[half][column * stride];
    return column + 1 < keys ? low | (unsigned)row[half][(column + 1) * stride] << 16 : low;
  }
  __device__ __forceinline__ void load(MaskPairs& to, int column) const {
#pragma unroll
    for (int n = 0; n < kOwn / 8; ++n) {
      to[n][0] = read(0, column + 8 * n);
      to[n][1] = same ? to[n][0] : read(1, column + 8 * n);
    }
  }
};

// One of a pair in base 2. What is finite stays so: the lowest bf16 times 1.44 would not.
__device__ __forceinline__ float maskValue(unsigned pair, int index) {
  X element;
  element.bits = (unsigned short)(pair >> 16 * index);
  const float value = Element<X>::load(element);
  const float scaled = value * kBaseTwo;
  return value > -infinity() ? fmaxf(scaled, -3e38f) : scaled;
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
      for (int i = 0; i < 4; ++i) s[n][i] += maskValue(mask[n][i / 2], i % 2);
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
  __device__ __forceinline__ void addValues(const Scores& weight, const X* tile, const Place& at) {
    const X* const row = tile + at.lane % 16 * kPitch + at.lane / 16 * 8;
#pragma unroll
    for (int n = 0; n < kOwn / 8; n += 2) {
      const unsigned a[4] = {packed<X>(weight[n][0], weight[n][1]), packed<X>(weight[n][2], weight[n][3]),
                             packed<X>(weight[n + 1][0], weight[n + 1][1]), packed<X>(weight[n + 1][2], weight[n + 1][3])};
#pragma unroll
      for (int c = 0; c < kWidth / 8; c += 2) {
        unsigned b[4];
        loadMatricesTransposed(b, row + n * 8 * kPitch + c * 8);
        multiplyAdd<X>(value[c], a, b[0], b[1]);
        multiplyAdd<X>(value[c + 1], a, b[2], b[3]);
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
        *(Pack<float, 2>*)(memory + row * kPitch + c * 8 + at.pair) = {{value[c][2 * half], value[c][2 * half + 1]}};
      }
      float whole = sum[half] + shuffleXor(sum[half], 1);
      whole += shuffleXor(whole, 2);
      if (at.pair != 0) continue;
      memory[kWarps * 16 * kPitch + row] = greatest[half];
      memory[kWarps * 16 * (kPitch + 1) + row] = whole;
    }
  }
};

// Eight columns of a row from the warps that had parts of its keys. `first`: the row of the first of these warps.
__device__ __forceinline__ Pack<X, 8> joined(const Parameters& p, const float* memory, int first, int column) {
  const float* const greatest = memory + kWarps * 16 * kPitch + first;
  const float* const sums = greatest + kWarps * 16;
  float most = -infinity();
#pragma unroll
  for (int w = 0; w < kKeyWarps; ++w) most = fmaxf(most, greatest[16 * w]);
  const float origin = most > -infinity() ? most : 0.f;
  float sum = 0.f;
  float value[8] = {};
#pragma unroll
  for (int w = 0; w < kKeyWarps; ++w) {
    const float part = powerOfTwo(greatest[16 * w] - origin);
    sum += part * sums[16 * w];
    const auto low = *(const Pack<float, 4>*)(memory + (first + 16 * w) * kPitch + column);
    const auto high = *(const Pack<float, 4>*)(memory + (first + 16 * w) * kPitch + column + 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      value[i] += part * low.e[i];
      value[i + 4] += part * high.e[i];
    }
  }
  const bool isZero = p.keys == 0 || (p.emptyIsZero && !(sum > 0.f));
  const float inverse = 1.f / sum;
  Pack<X, 8> result;
#pragma unroll
  for (int i = 0; i < 8; ++i) result.e[i] = Element<X>::store(isZero ? 0.f : value[i] * inverse);
  return result;
}

KERNEL(tenon_flash_attention, Parameters) {
  DYNAMIC_SHARED(memory, kSharedBytes);
  X* const q = (X*)memory;
  X* const k = q + kRows * kPitch;
  X* const v = k + kStages * kTile * kPitch;
  const unsigned headOfAll = p.tiles.quotient(blockIdx.x);
  const int firstRow = (int)(blockIdx.x - headOfAll * p.tiles.divisor) * kRows;
  const i64 batch = p.heads.quotient(headOfAll);
  const i64 head = headOfAll - batch * p.heads.divisor;
  const X* const keys = p.k + batch * p.kStride[0] + head * p.kStride[1];
  const X* const values = p.v + batch * p.vStride[0] + head * p.vStride[1];

  // Two groups of copies per tile, keys and values; groups without copies keep the count.
  const auto copyTile = [&](int first) {
    const int stage = first / kTile % kStages * kTile * kPitch;
    if (first < p.keys) copyRows<kTile>(k + stage, keys, p.kStride[2], first, p.keys, p.width);
    closeCopies();
    if (first < p.keys) copyRows<kTile>(v + stage, values, p.vStride[2], first, p.keys, p.width);
    closeCopies();
  };
  copyRows<kRows>(q, p.q + batch * p.qStride[0] + head * p.qStride[1], p.qStride[2], firstRow, p.queries, p.width);
  copyTile(0);

  const Place at = placeOfThread();
  const Mask mask(p, batch, head, firstRow + at.rowWarp * 16 + at.group);
  MaskPairs pairs;
  if (p.mask != nullptr) mask.load(pairs, at.keyWarp * kOwn + at.pair);
  waitForCopies<1>();
  __syncthreads();
  const Queries queries(q, at);
  Result result;
  for (int first = 0; first < p.keys; first += kTile) {
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
  X* const y = p.y + batch * p.yStride[0] + head * p.yStride[1];
  for (int chunk = threadIdx.x; chunk < kRows * kChunks; chunk += kThreads) {
    const int row = chunk / kChunks;
    const int column = chunk % kChunks * 8;
    if (firstRow + row >= p.queries || column >= p.width) continue;
    *(Pack<X, 8>*)(y + (firstRow + row) * p.yStride[2] + column) = joined(p, (const float*)memory, row / 16 * kKeyWarps * 16 + row % 16, column);
  }
}
