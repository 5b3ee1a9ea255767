// Attention of few queries: for ROWS (8 or 16) rows of a head, its keys and values are read once, which is what takes
// time. A warp takes 16 keys at a time from memory to registers as operands of tensor cores, without shared memory in
// between; warps, and blocks of a cluster (of sm_90 and later), share the keys of a head and join their sums: each
// block finishes its part of the columns. X: f16 or bf16; WIDTH: columns of a head, rounded up to a multiple of 16;
// CAPPED: 1 where scores have a soft cap.
#include "attention_heads.cuh"
#include "attention_mask.cuh"
#include "bulk_copies.cuh"

constexpr int kRows = ROWS;
constexpr int kHalves = kRows / 8;                           // of the rows that tensor cores take
constexpr int kPack = 8;                                     // elements of 16 bytes
constexpr int kDeep = (WIDTH + 31) / 32;                     // packs of a row of q or k that a lane takes
constexpr int kWide = (WIDTH + 63) / 64;                     // packs of a row of v that a lane takes
constexpr int kColumns = 64 * kWide;                         // of results
constexpr int kThreads = 32 * (WIDTH > 64 ? 12 : 16);        // at most, as RowAttentionChoice::mostWarps() says
constexpr int kChunk = 4;                                    // columns that a thread joins
constexpr int kChunks = WIDTH / kChunk;                      // of a row
constexpr int kPitch = kColumns + 4;                         // of rows in shared memory
constexpr int kHeadBytes = 16;                               // of shared memory, with the barrier
constexpr int kSentBytes = 2 * sizeof(Pack<float, kChunk>);  // of a chunk from one block to another

typedef Pack<unsigned, 4> Words;  // of eight elements

// Where a lane stands in operands of tensor cores: row `group` and the one 8 below, columns `pair` and the next.
struct Place {
  int warp, warps, group, turn;

  __device__ __forceinline__ Place()
      : warp(threadIdx.x / 32), warps(blockDim.x / 32), group(threadIdx.x % 32 / 4), turn(threadIdx.x % 4) {}
};

// 16 bytes of a row, or zeros.
__device__ __forceinline__ Words wordsAt(const X* row, int column, bool inside) {
  if (!inside) return {};
  return *(const Words*)(row + column);
}

// The weighted sum of values so far, and the softmax's own. The column of value[8 w + c][i] is 64 w + 16 turn + c, and
// 8 more for odd i.
struct Result {
  float value[8 * kWide][2 * kHalves];
  float greatest[kHalves];  // per row
  float sum[kHalves];       // of this lane's keys

  __device__ __forceinline__ Result() {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
#pragma unroll
      for (int c = 0; c < 8 * kWide; ++c) value[c][2 * half] = value[c][2 * half + 1] = 0.f;
      greatest[half] = -infinity();
      sum[half] = 0.f;
    }
  }
  // Scores in base 2 to weights; what is here shrinks when a greater score came.
  __device__ __forceinline__ void weigh(float (&s)[2][4]) {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      float most = greatest[half];
#pragma unroll
      for (int n = 0; n < 2; ++n) most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      most = fmaxf(most, shuffleXor(most, 1));
      most = fmaxf(most, shuffleXor(most, 2));
      const float origin = most > -infinity() ? most : 0.f;
      const float kept = powerOfTwo(greatest[half] - origin);
      greatest[half] = most;
      sum[half] *= kept;
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) sum[half] += s[n][i] = powerOfTwo(s[n][i] - origin);
      }
#pragma unroll
      for (int c = 0; c < 8 * kWide; ++c) {
        value[c][2 * half] *= kept;
        value[c][2 * half + 1] *= kept;
      }
    }
  }
  // Weights times values: keys 2 turn, 2 turn + 1, 2 turn + 8 and 2 turn + 9 of the step, of which the lane has these.
  __device__ __forceinline__ void addValues(const float (&weight)[2][4], const Words (&v)[kWide][4]) {
    const unsigned a[4] = {packed<X>(weight[0][0], weight[0][1]), packed<X>(weight[0][2], weight[0][3]),
                           packed<X>(weight[1][0], weight[1][1]), packed<X>(weight[1][2], weight[1][3])};
    const auto pairOf = [](unsigned first, unsigned second, bool odd) {
      return odd ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
    };
#pragma unroll
    for (int w = 0; w < kWide; ++w) {
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        const unsigned b0 = pairOf(v[w][0].e[c / 2], v[w][1].e[c / 2], c % 2 != 0);
        const unsigned b1 = pairOf(v[w][2].e[c / 2], v[w][3].e[c / 2], c % 2 != 0);
        auto& own = value[8 * w + c];
        float all[4] = {};  // what is of no row is dropped
#pragma unroll
        for (int i = 0; i < 2 * kHalves; ++i) all[i] = own[i];
        multiplyAdd<X>(all, a, b0, b1);
#pragma unroll
        for (int i = 0; i < 2 * kHalves; ++i) own[i] = all[i];
      }
    }
  }
  // To shared memory: the warp's rows, and their greatest scores and sums behind those of all warps.
  __device__ __forceinline__ void show(float* memory, float* numbers, int rows, const Place& at) const {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      float whole = sum[half] + shuffleXor(sum[half], 1);
      whole += shuffleXor(whole, 2);
      const int row = at.group + 8 * half;
      if (row >= rows) continue;
      const int own = at.warp * rows + row;
#pragma unroll
      for (int c = 0; c < 8 * kWide; c += kChunk) {
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
          const int i = 2 * half + odd;
          float* const to = memory + own * kPitch + c / 8 * 64 + at.turn * 16 + odd * 8 + c % 8;
          *(Pack<float, kChunk>*)to = {{value[c][i], value[c + 1][i], value[c + 2][i], value[c + 3][i]}};
        }
      }
      if (at.turn != 0) continue;
      numbers[2 * own] = greatest[half];
      numbers[2 * own + 1] = whole;
    }
  }
};

// Neighbouring columns of a row: values and sum relative to the greatest score.
struct Columns {
  float value[kChunk];
  float greatest;
  float sum;

  __device__ __forceinline__ void put(const RowAttentionParameters& p, X* y, int row, int column) const {
    if (column >= p.width) return;
    const bool isZero = p.keys == 0 || (p.emptyIsZero && !(sum > 0.f));
    const float inverse = 1.f / sum;
    Pack<X, kChunk> result;
#pragma unroll
    for (int i = 0; i < kChunk; ++i)
      result.e[i] = Element<X>::store(isZero ? (sum == 0.f ? value[i] : 0.f) : value[i] * inverse);
    *(Pack<X, kChunk>*)(y + row * p.yStride[2] + column) = result;
  }
};

// The sum of shares of which `values` and `numbers` say where each has its columns, its greatest score and its sum.
template <typename Values, typename Numbers>
__device__ __forceinline__ Columns joined(int count, Values values, Numbers numbers) {
  Columns to = {};
  to.greatest = -infinity();
#pragma unroll 4
  for (int k = 0; k < count; ++k) to.greatest = fmaxf(to.greatest, numbers(k)[0]);
  const float origin = to.greatest > -infinity() ? to.greatest : 0.f;
#pragma unroll 4
  for (int k = 0; k < count; ++k) {
    const float* const own = numbers(k);
    const float part = powerOfTwo(own[0] - origin);
    to.sum += part * own[1];
    const auto some = *(const Pack<float, kChunk>*)values(k);
#pragma unroll
    for (int e = 0; e < kChunk; ++e) to.value[e] += part * some.e[e];
  }
  return to;
}

KERNEL_WITHOUT_WAIT(__launch_bounds__(kThreads), tenon_row_attention, RowAttentionParameters) {
  CLUSTER_SHARED(memory, kRowAttentionMostShared);
  const int block = blockOfCluster(), blocks = blocksOfCluster();
  const i64 head = blockIdx.y / p.tiles, batch = blockIdx.z;
  const int firstRow = (int)(blockIdx.y - (unsigned)head * p.tiles.divisor) * kRows;
  const int rows = min(kRows, p.queries - firstRow);
  const Place at;
  const int chunks = rows * kChunks;
  const int first = block * p.chunksOfBlock;  // of those that this block finishes
  const int mine = max(0, min(p.chunksOfBlock, chunks - first));
  ByteBarrier* const barrier = (ByteBarrier*)memory;
  float* const received = (float*)(memory + kHeadBytes);  // [block][chunk][values, greatest, sum, nothing, nothing]
  float* const shares = received + (blocks == 1 ? 0 : blocks * p.chunksOfBlock * 2 * kChunk);
  float* const numbers = shares + at.warps * rows * kPitch;
  if (blocks > 1) {
    if (threadIdx.x == 0) {
      openBarrier(barrier, 1);
      showBarriers();
      arriveExpecting(barrier, (unsigned)(blocks * mine * kSentBytes));
    }
    syncWarp();
    announceToCluster();
  }
  const X* const keys = keysOf(p, batch, head);
  const X* const values = valuesOf(p, batch, head);
  const X* const queries = queriesOf(p, batch, head) + firstRow * p.qStride[2];
  const MaskRows<X> mask(maskOf(p, batch, head), p.maskStride[2], p.maskStride[3], firstRow + at.group, p.queries,
                         p.keys, p.maskInPairs != 0);
  afterPredecessor();
  Words q[2][kDeep];
#pragma unroll
  for (int d = 0; d < kDeep; ++d) {
    const int column = 32 * d + kPack * at.turn;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = at.group + 8 * half;
      const bool inside = half < kHalves && row < rows && column < p.width;
      q[half][d] = wordsAt(queries + row * p.qStride[2], column, inside);
    }
  }
  Result result;
  const int end = min((block + 1) * p.keysOfBlock, p.keys);
  for (int key = block * p.keysOfBlock + 16 * at.warp; key < end; key += 16 * at.warps) {
    Words k[2][kDeep], v[kWide][4];
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const int row = key + 8 * n + at.group;
#pragma unroll
      for (int d = 0; d < kDeep; ++d) {
        const int column = 32 * d + kPack * at.turn;
        k[n][d] = wordsAt(keys + row * p.kStride[2], column, row < p.keys && column < p.width);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = key + 2 * at.turn + i % 2 + i / 2 * 8;
#pragma unroll
      for (int w = 0; w < kWide; ++w) {
        const int column = 64 * w + kPack * at.group;
        v[w][i] = wordsAt(values + row * p.vStride[2], column, row < p.keys && column < p.width);
      }
    }
    PairOf<X> pairs[2][2];
    if (p.mask != nullptr) mask.load(pairs, key + 2 * at.turn);
    float s[2][4] = {};
#pragma unroll
    for (int d = 0; d < kDeep; ++d) {
#pragma unroll
      for (int e = 0; e < 4; e += 2) {  // columns in any order, the same for both
        const unsigned a[4] = {q[0][d].e[e], q[1][d].e[e], q[0][d].e[e + 1], q[1][d].e[e + 1]};
#pragma unroll
        for (int n = 0; n < 2; ++n) multiplyAdd<X>(s[n], a, k[n][d].e[e], k[n][d].e[e + 1]);
      }
    }
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int column = key + 8 * n + 2 * at.turn + i % 2;
        if (i / 2 >= kHalves) break;
        if (CAPPED != 0) s[n][i] = tanhf(s[n][i] * p.inner);
        s[n][i] *= p.scale;
        if (p.mask != nullptr) s[n][i] += inBaseTwo<X>(pairs[n][i / 2].value(i % 2));
        if (column >= p.keys || (p.causal != 0 && column > firstRow + at.group + i / 2 * 8)) s[n][i] = -infinity();
      }
    }
    result.weigh(s);
    result.addValues(s, v);
  }
  result.show(shares, numbers, rows, at);
  __syncthreads();
  if (blocks > 1) waitForCluster();  // the others have begun
  X* const y = resultsOf(p, batch, head) + firstRow * p.yStride[2];
  for (int i = threadIdx.x; i < chunks; i += blockDim.x) {
    const int row = i / kChunks;
    const int column = i % kChunks * kChunk;
    const Columns columns = joined(
        at.warps, [&](int k) { return shares + (k * rows + row) * kPitch + column; },
        [&](int k) { return numbers + 2 * (k * rows + row); });
    if (blocks == 1) {
      columns.put(p, y, row, column);
      continue;
    }
    const int rank = (int)((unsigned)i / p.chunksDivider);
    float* const to = received + (block * p.chunksOfBlock + i - rank * p.chunksOfBlock) * 2 * kChunk;
    sendToBlock(to, rank, Pack<float, 4>{{columns.value[0], columns.value[1], columns.value[2], columns.value[3]}},
                barrier);
    sendToBlock(to + kChunk, rank, Pack<float, 4>{{columns.greatest, columns.sum, 0.f, 0.f}}, barrier);
  }
  if (blocks == 1) return;
  waitAt(barrier, 0);
  for (int i = threadIdx.x; i < mine; i += blockDim.x) {
    const auto placeOf = [&](int k) { return received + (k * p.chunksOfBlock + i) * 2 * kChunk; };
    const Columns columns = joined(blocks, placeOf, [&](int k) { return placeOf(k) + kChunk; });
    columns.put(p, y, (first + i) / kChunks, (first + i) % kChunks * kChunk);
  }
}
