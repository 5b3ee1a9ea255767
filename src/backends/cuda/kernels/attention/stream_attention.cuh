// Attention of any number of keys, heads of up to 256 columns, by tensor cores of sm_90a: each group of four warps has
// 64 rows of queries; one group more asks for stages of keys and of values by bulk copies. The scores of a stage are in
// registers and their softmax is kept as it goes; while a group weighs the scores of a stage, the products of the
// weights before with their values run, and those of other groups. The including text defines X (f16 or bf16),
// multiplyQueries() and multiplyLast() where the chip has warpgroups, WIDTH (columns of a head, rounded up to a
// multiple of 16), ROW_GROUPS, KEYS (of a stage), STAGES, MASK (whether there is one), TURNS (whether groups begin
// their products one after another).
#pragma once

#include "attention_heads.cuh"
#include "attention_mask.cuh"
#include "bulk_copies.cuh"

constexpr int kGroups = ROW_GROUPS;
constexpr int kTile = KEYS;
constexpr int kStages = STAGES;
constexpr int kWidth = WIDTH;
constexpr int kConsumers = 128 * kGroups;
constexpr int kRows = 64 * kGroups;
constexpr int kPanels = (kWidth + kGroupRow - 1) / kGroupRow;  // of 64 columns, the last of which may have fewer
constexpr int kQueryPanel = 64 * kGroupRow;                    // halves of a group
constexpr int kKeyPanel = kTile * kGroupRow;
constexpr int kStage = kPanels * kKeyPanel;
// As streamSharedBytes() says.
constexpr int kSharedBytes = kStreamHeadBytes + 2 * (kGroups * kPanels * kQueryPanel + 2 * kStages * kStage);

typedef float Scores[kTile / 8][4];
typedef float Values[kWidth / 8][4];
typedef unsigned Weights[kTile / 16][4];

struct Barriers {
  ByteBarrier queries;
  ByteBarrier turn[kGroups];
  ByteBarrier keysFull[kStages], keysEmpty[kStages], valuesFull[kStages], valuesEmpty[kStages];
};
static_assert(sizeof(Barriers) <= kStreamHeadBytes, "barriers have their room");

// What the block computes, and where things are in shared memory.
struct Work {
  Barriers* barriers;
  X *queries, *keys, *values;
  i64 batch, head;
  int firstRow, tiles;

  __device__ __forceinline__ Work(const StreamParameters& p, unsigned char* memory) {
    barriers = (Barriers*)memory;
    queries = (X*)(memory + kStreamHeadBytes);
    keys = queries + kGroups * kPanels * kQueryPanel;
    values = keys + kStages * kStage;
    const unsigned headOfAll = blockIdx.x / p.tiles;
    const int place = (int)(blockIdx.x - headOfAll * p.tiles.divisor);
    // Rows that see many keys begin first.
    firstRow = (p.causal != 0 ? (int)p.tiles.divisor - 1 - place : place) * kRows;
    batch = headOfAll / p.heads;
    head = headOfAll - batch * p.heads.divisor;
    const int seen = p.causal != 0 ? min(firstRow + kRows, p.keys) : p.keys;  // by one of the rows
    tiles = (seen + kTile - 1) / kTile;
  }
};

// A place in a ring of stages, and the parity of its phase.
struct Turn {
  int slot = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void next() {
    if (++slot < kStages) return;
    slot = 0;
    parity ^= 1;
  }
};

__device__ __forceinline__ void openBarriers(Barriers* b) {
  openBarrier(&b->queries, 1);
  for (int i = 0; i < kGroups; ++i) openBarrier(b->turn + i, 4);
  for (int i = 0; i < kStages; ++i) {
    openBarrier(b->keysFull + i, 1);
    openBarrier(b->valuesFull + i, 1);
    openBarrier(b->keysEmpty + i, 4 * kGroups);
    openBarrier(b->valuesEmpty + i, 4 * kGroups);
  }
  showBarriers();
}

__device__ __forceinline__ void copyStage(const TileMap& map, X* to, const Work& work, int head, int row,
                                          ByteBarrier* full) {
  arriveExpecting(full, 2 * kStage);
  for (int panel = 0; panel < kPanels; ++panel)
    copyHead(to + panel * kKeyPanel, map, panel * kGroupRow, row, head, (int)work.batch, full);
}
// One thread asks for all that the groups read.
__device__ __forceinline__ void copyAll(const StreamParameters& p, const Work& work) {
  auto* const b = work.barriers;
  showToCopies();
  arriveExpecting(&b->queries, 2 * kGroups * kPanels * kQueryPanel);
  for (int i = 0; i < kGroups * kPanels; ++i) {
    copyHead(work.queries + i * kQueryPanel, p.qMap, i % kPanels * kGroupRow, work.firstRow + i / kPanels * 64,
             (int)work.head, (int)work.batch, &b->queries);
  }
  const int head = (int)((unsigned)work.head / p.sharing);
  Turn at;
  for (int tile = 0; tile < work.tiles; ++tile, at.next()) {
    if (tile >= kStages) waitAt(b->keysEmpty + at.slot, at.parity ^ 1);
    copyStage(p.kMap, work.keys + at.slot * kStage, work, head, tile * kTile, b->keysFull + at.slot);
    if (tile >= kStages) waitAt(b->valuesEmpty + at.slot, at.parity ^ 1);
    copyStage(p.vMap, work.values + at.slot * kStage, work, head, tile * kTile, b->valuesFull + at.slot);
  }
}

__device__ __forceinline__ void giveBack(ByteBarrier* barrier) {
  syncWarp();
  if (threadIdx.x % 32 == 0) arriveAt(barrier);
}

#if !defined(__CUDA_ARCH_FEAT_SM90_ALL)
// By products of single warps: c = a b, or with kMore c += a b, for 16 columns of the queries at `a` and the keys at
// `b`.
template <bool kMore>
__device__ __forceinline__ void multiplyQueries(float (*c)[4], const X* a, const X* b) {
  unsigned own[4];
  const auto address = (unsigned long long)(a + (threadIdx.x % 128 / 32 * 16 + threadIdx.x % 16) * kGroupRow +
                                            threadIdx.x % 32 / 16 * 8);
  loadMatrices(own, (const X*)(address ^ (address >> 7 & 7) << 4));
  for (int n = 0; n < kTile; n += 16) GroupProduct<X, 16, kMore>::byColumns(c + n / 8, own, b + n * kGroupRow);
}
// c += a b for the columns of the last panel of values, where that has fewer than 64.
__device__ __forceinline__ void multiplyLast(float (*c)[4], const unsigned (&a)[4], const X* b) {
  GroupProduct<X, kWidth % kGroupRow == 0 ? kGroupRow : kWidth % kGroupRow, true>::byRows(c, a, b);
}
#endif

// Products of the group's queries and a stage's keys, in the background.
__device__ __forceinline__ void startScores(Scores& s, const X* queries, const X* keys) {
  multiplyQueries<false>(s, queries, keys);
#pragma unroll
  for (int step = 1; step < kWidth / 16; ++step) {
    const int panel = step / 4;
    multiplyQueries<true>(s, queries + panel * kQueryPanel + step % 4 * 16, keys + panel * kKeyPanel + step % 4 * 16);
  }
  closeProducts();
}
// Products of weights and a stage's values, likewise.
__device__ __forceinline__ void startValues(Values& value, const Weights& weight, const X* values) {
  constexpr int kWhole = kWidth / kGroupRow;
#pragma unroll
  for (int step = 0; step < kTile / 16; ++step) {
    const X* const rows = values + step * 16 * kGroupRow;
#pragma unroll
    for (int panel = 0; panel < kWhole; ++panel)
      GroupProduct<X, 64, true>::byRows(value + panel * 8, weight[step], rows + panel * kKeyPanel);
    if (kPanels > kWhole) multiplyLast(value + kWhole * 8, weight[step], rows + kWhole * kKeyPanel);
  }
  closeProducts();
}

// Rows of a group as a thread has them: `row` and row + 8 of all, the neighbours from `pair` on of each 8 columns.
struct Rows {
  const StreamParameters& p;
  const X* mask;
  int row, pair;
  float greatest[2], sum[2];

  __device__ __forceinline__ Rows(const StreamParameters& parameters, const Work& work) : p(parameters) {
    mask = maskOf(p, work.batch, work.head);
    row = work.firstRow + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    pair = threadIdx.x % 4 * 2;
    greatest[0] = greatest[1] = -infinity();
    sum[0] = sum[1] = 0.f;
  }
  __device__ __forceinline__ bool scaledAtOnce() const { return MASK != 0 || !(p.scale > 0.f); }

  // Brings in the mask, and leaves out keys behind the end or the row's own number.
  __device__ __forceinline__ void finish(Scores& s, int firstKey) const {
    const int column = firstKey + pair;
    if (MASK != 0 && p.maskStride[2] == 0 && p.maskInPairs != 0 && firstKey + kTile <= p.keys) {  // one for all rows
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
        const auto two = *(const PairOf<X>*)(mask + column + 8 * n);
        const float added[2] = {inBaseTwo<X>(two.value(0)), inBaseTwo<X>(two.value(1))};
#pragma unroll
        for (int i = 0; i < 4; ++i) s[n][i] = fmaf(s[n][i], p.scale, added[i % 2]);
      }
    } else if (MASK != 0) {
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
    } else if (scaledAtOnce()) {
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) s[n][i] *= p.scale;
      }
    }
    if (firstKey + kTile > p.keys) hide(s, column, p.keys - 1, p.keys - 1);
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
    const float scale = scaledAtOnce() ? 1.f : p.scale;
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

  __device__ __forceinline__ RowFactor factorOf(int half) const {
    const float two = sum[half] + shuffleXor(sum[half], 1);
    return {p, two + shuffleXor(two, 2)};
  }
  // To the output: lanes of a row exchange pairs of columns until each has 16 bytes; what is left of 16 columns as
  // pairs.
  __device__ __forceinline__ void put(X* y, const Values& value) const {
    constexpr int kExchanged = kWidth / 32 * 4;
    const int turn = threadIdx.x % 4;
    const bool odd = turn % 2 != 0;
    const bool late = turn / 2 != 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const RowFactor factor = factorOf(half);
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
        if (inside && c * 8 < p.width) *(unsigned*)(to + c * 8 + pair) = two;
      }
    }
  }
};

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

// A group's rows, all stages.
__device__ __forceinline__ void attend(const StreamParameters& p, const Work& work) {
  auto* const b = work.barriers;
  const int group = ofFirstLane(threadIdx.x / 128);
  const X* const queries = work.queries + group * kPanels * kQueryPanel;
  Rows rows(p, work);
  Values value;
#pragma unroll
  for (int c = 0; c < kWidth / 8; ++c) value[c][0] = value[c][1] = value[c][2] = value[c][3] = 0.f;
  X* const y = resultsOf(p, work.batch, work.head);
  if (work.tiles == 0) return rows.put(y, value);
  if (TURNS != 0 && group == kGroups - 1) giveBack(b->turn);
  Scores s;
  Weights weight;
  float kept[2];
  Turn at;
  waitAt(&b->queries, 0);
  waitAt(b->keysFull, 0);
  if (TURNS != 0) waitAt(b->turn + group, 0);
  openProducts();
  startScores(s, queries, work.keys);
  if (TURNS != 0) giveBack(b->turn + (group + 1) % kGroups);
  waitForProducts<0>();
  giveBack(b->keysEmpty);
  rows.finish(s, 0);
  rows.weigh(s, kept);
  pack(weight, s);
#pragma unroll 1
  for (int tile = 1; tile < work.tiles; ++tile) {
    const Turn before = at;
    at.next();
    waitAt(b->keysFull + at.slot, at.parity);
    waitAt(b->valuesFull + before.slot, before.parity);
    if (TURNS != 0) waitAt(b->turn + group, tile & 1);
    openProducts();
    startScores(s, queries, work.keys + at.slot * kStage);
    startValues(value, weight, work.values + before.slot * kStage);
    if (TURNS != 0) giveBack(b->turn + (group + 1) % kGroups);
    waitForProducts<1>();
    giveBack(b->keysEmpty + at.slot);
    rows.finish(s, tile * kTile);
    rows.weigh(s, kept);
    waitForProducts<0>();
    giveBack(b->valuesEmpty + before.slot);
    shrink(value, kept);
    pack(weight, s);
  }
  waitAt(b->valuesFull + at.slot, at.parity);
  openProducts();
  startValues(value, weight, work.values + at.slot * kStage);
  waitForProducts<0>();
  rows.put(y, value);
}

// Registers go from the group that copies to those that multiply, where these would have too few: of so many threads
// the compiler gives each the same number at first.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ __forceinline__ void giveRegisters() {
  if (kGroups > 1) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kGroups == 2 ? 24 : 32));
}
__device__ __forceinline__ void takeRegisters() {
  if (kGroups > 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kGroups == 2 ? 240 : 160));
}
#else
__device__ __forceinline__ void giveRegisters() {}
__device__ __forceinline__ void takeRegisters() {}
#endif

KERNEL_BOUNDED(__launch_bounds__(kConsumers + 128, 1), tenon_stream_attention, StreamParameters) {
  DYNAMIC_SHARED(memory, kSharedBytes);
  const Work work(p, memory);
  if (threadIdx.x == kConsumers) openBarriers(work.barriers);
  __syncthreads();
  if (threadIdx.x >= kConsumers) {
    giveRegisters();
    if (threadIdx.x == kConsumers) copyAll(p, work);
  } else {
    takeRegisters();
    attend(p, work);
  }
}
