// Attention of any number of keys, heads of up to 256 columns, by tensor cores of sm_90a: each group of four warps has
// 64 rows of queries; one group more asks for queries, and for stages of keys and of values, by bulk copies. The scores
// of a stage are in registers and their softmax is kept as it goes; while a group weighs the scores of a stage, the
// products of the weights before with their values run, and those of other groups. A block takes one tile of rows after
// another, where there are more tiles than blocks; its copies never stop, and the first products of a tile begin before
// the last ones of the tile before. The including text defines X (f16 or bf16), multiplyQueries() and multiplyLast()
// where the chip has warpgroups, WIDTH (columns of a head, rounded up to a multiple of 16), ROW_GROUPS, KEYS (of a
// stage), STAGES, TILES (of queries in shared memory), ONCE (whether each block has one tile only), MASK (0 none, 1
// any, 2 the same for all rows), TURNS (whether groups begin their products one after another).
#pragma once

#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "bulk_copies.cuh"

constexpr int kGroups = ROW_GROUPS;
constexpr int kRows = 64 * kGroups;

#include "stream_rows.cuh"

constexpr int kStages = STAGES;
constexpr int kTiles = TILES;
constexpr int kConsumers = 128 * kGroups;
constexpr int kPanels = (kWidth + kGroupRow - 1) / kGroupRow;  // of 64 columns, the last of which may have fewer
constexpr int kQueryPanel = 64 * kGroupRow;                    // halves of a group
constexpr int kQueries = kGroups * kPanels * kQueryPanel;      // of a tile
constexpr int kKeyPanel = kTile * kGroupRow;
constexpr int kStage = kPanels * kKeyPanel;
constexpr int kMaskFloats = MASK == kMaskOfKeys ? kStages * kMaskPitch : 0;
// As StreamChoice::sharedBytes() says.
constexpr int kSharedBytes = kStreamHeadBytes + 2 * (kTiles * kQueries + 2 * kStages * kStage) + 4 * kMaskFloats;

struct Barriers {
  ByteBarrier queriesFull[kTiles], queriesEmpty[kTiles];
  ByteBarrier turn[kGroups];
  ByteBarrier keysFull[kStages], keysEmpty[kStages], valuesFull[kStages], valuesEmpty[kStages];
};
static_assert(sizeof(Barriers) <= kStreamHeadBytes, "barriers have their room");

// What is in shared memory.
struct Memory {
  Barriers* barriers;
  X *queries, *keys, *values;
  float* masks;  // of keys, for each stage

  __device__ __forceinline__ explicit Memory(unsigned char* memory) {
    barriers = (Barriers*)memory;
    queries = (X*)(memory + kStreamHeadBytes);
    keys = queries + kTiles * kQueries;
    values = keys + kStages * kStage;
    masks = (float*)(values + kStages * kStage);
  }
};

// A place in a ring, and the parity of its phase.
template <int kCount>
struct Turn {
  int slot = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void next() {
    if (++slot < kCount) return;
    slot = 0;
    parity ^= 1;
  }
};

// The block's next tile; behind the last one some number that is none.
__device__ __forceinline__ unsigned following(const StreamParameters& p, unsigned number) {
  return ONCE != 0 ? p.allTiles : number + gridDim.x;
}

__device__ __forceinline__ void openBarriers(Barriers* b) {
  for (int i = 0; i < kGroups; ++i) openBarrier(b->turn + i, 4);
  for (int i = 0; i < kTiles; ++i) {
    openBarrier(b->queriesFull + i, 1);
    openBarrier(b->queriesEmpty + i, 4 * kGroups);
  }
  for (int i = 0; i < kStages; ++i) {
    openBarrier(b->keysFull + i, MASK == kMaskOfKeys ? 33 : 1);  // of a warp that brings masks each lane
    openBarrier(b->valuesFull + i, 1);
    openBarrier(b->keysEmpty + i, 4 * kGroups);
    openBarrier(b->valuesEmpty + i, 4 * kGroups);
  }
  showBarriers();
}

__device__ __forceinline__ void copyStage(const TileMap& map, X* to, int batch, int head, int row, ByteBarrier* full) {
  arriveExpecting(full, 2 * kStage);
  for (int panel = 0; panel < kPanels; ++panel)
    copyHead(to + panel * kKeyPanel, map, panel * kGroupRow, row, head, batch, full);
}
// One thread asks for all that the groups read.
__device__ __forceinline__ void copyAll(const StreamParameters& p, const Memory& memory) {
  auto* const b = memory.barriers;
  showToCopies();
  Turn<kTiles> of;
  Turn<kStages> at;
  for (unsigned number = blockIdx.x; number < p.allTiles; number = following(p, number), of.next()) {
    const Tile tile(p, number);
    const int batch = (int)tile.batch;
    waitAt(b->queriesEmpty + of.slot, of.parity ^ 1);
    arriveExpecting(b->queriesFull + of.slot, 2 * kQueries);
    for (int i = 0; i < kGroups * kPanels; ++i) {
      copyHead(memory.queries + of.slot * kQueries + i * kQueryPanel, p.qMap, i % kPanels * kGroupRow,
               tile.firstRow + i / kPanels * 64, (int)tile.head, batch, b->queriesFull + of.slot);
    }
    const int head = (int)((unsigned)tile.head / p.sharing);
    for (int stage = 0; stage < tile.stages; ++stage, at.next()) {
      waitAt(b->keysEmpty + at.slot, at.parity ^ 1);
      copyStage(p.kMap, memory.keys + at.slot * kStage, batch, head, stage * kTile, b->keysFull + at.slot);
      waitAt(b->valuesEmpty + at.slot, at.parity ^ 1);
      copyStage(p.vMap, memory.values + at.slot * kStage, batch, head, stage * kTile, b->valuesFull + at.slot);
    }
  }
}

__device__ __forceinline__ void giveBack(ByteBarrier* barrier) {
  syncWarp();
  if (threadIdx.x % 32 == 0) arriveAt(barrier);
}

// One warp brings the mask of each stage's keys, which is the same for all rows; keys behind the end are left out.
__device__ __forceinline__ void bringMasks(const StreamParameters& p, const Memory& memory) {
  auto* const b = memory.barriers;
  Turn<kStages> at;
  for (unsigned number = blockIdx.x; number < p.allTiles; number = following(p, number)) {
    const Tile tile(p, number);
    const X* const mask = maskOf(p, tile.batch, tile.head);
    for (int stage = 0; stage < tile.stages; ++stage, at.next()) {
      waitAt(b->keysEmpty + at.slot, at.parity ^ 1);
      float* const to = memory.masks + at.slot * kMaskPitch;
      bool hasMask = false;
      for (int i = threadIdx.x % 32; i < kTile; i += 32) {
        const int key = stage * kTile + i;
        const float value = key < p.keys ? Element<X>::load(mask[key * p.maskStride[3]]) : -infinity();
        to[i] = inBaseTwo<X>(value);
        hasMask = hasMask || value != 0.f;
      }
      const bool some = votesOf(hasMask) != 0;
      if (threadIdx.x % 32 == 0) to[kTile] = some ? 1.f : 0.f;
      arriveAt(b->keysFull + at.slot);
    }
  }
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

__device__ __forceinline__ void clear(Values& value) {
#pragma unroll
  for (int c = 0; c < kWidth / 8; ++c) value[c][0] = value[c][1] = value[c][2] = value[c][3] = 0.f;
}

// A group's rows of all tiles of the block, without keys.
__device__ __forceinline__ void putNothing(const StreamParameters& p) {
  Values value;
  clear(value);
  const float sum[2] = {};
  for (unsigned number = blockIdx.x; number < p.allTiles; number = following(p, number))
    putRows(p, Tile(p, number), sum, value);
}

// A group's rows of all tiles of the block, all stages.
__device__ __forceinline__ void attend(const StreamParameters& p, const Memory& memory) {
  auto* const b = memory.barriers;
  const int group = ofFirstLane(threadIdx.x / 128);
  const X* const queries = memory.queries + group * kPanels * kQueryPanel;
  unsigned number = blockIdx.x;
  Tile tile(p, number);
  Rows rows(p, tile);
  Values value;
  clear(value);
  if (TURNS != 0 && group == kGroups - 1) giveBack(b->turn);
  Scores s;
  Weights weight;
  float kept[2];
  Turn<kTiles> of;
  Turn<kStages> at;
  waitAt(b->queriesFull, 0);
  waitAt(b->keysFull, 0);
  if (TURNS != 0) waitAt(b->turn + group, 0);
  openProducts();
  startScores(s, queries, memory.keys);
  if (TURNS != 0) giveBack(b->turn + (group + 1) % kGroups);
  waitForProducts<0>();
  if (MASK != kMaskOfKeys) giveBack(b->keysEmpty);
  if (tile.stages == 1) giveBack(b->queriesEmpty);
  rows.finish(s, 0, memory.masks);
  if (MASK == kMaskOfKeys) giveBack(b->keysEmpty);
  rows.weigh(s, kept);
  pack(weight, s);
  int stage = 1;
#pragma unroll 1
  for (unsigned step = 1;; ++step, ++stage) {
    if (ONCE != 0 && stage == tile.stages) break;
    const bool begins = ONCE == 0 && stage == tile.stages;
    const unsigned before = number;
    if (begins) {
      number = following(p, number);
      if (number >= p.allTiles) break;
      tile = Tile(p, number);
      stage = 0;
      of.next();
      waitAt(b->queriesFull + of.slot, of.parity);
    }
    const Turn<kStages> last = at;
    at.next();
    waitAt(b->keysFull + at.slot, at.parity);
    waitAt(b->valuesFull + last.slot, last.parity);
    if (TURNS != 0) waitAt(b->turn + group, step & 1);
    openProducts();
    startScores(s, queries + of.slot * kQueries, memory.keys + at.slot * kStage);
    startValues(value, weight, memory.values + last.slot * kStage);
    if (TURNS != 0) giveBack(b->turn + (group + 1) % kGroups);
    waitForProducts<1>();
    if (MASK != kMaskOfKeys) giveBack(b->keysEmpty + at.slot);
    if (stage + 1 == tile.stages) giveBack(b->queriesEmpty + of.slot);
    const float sum[2] = {rows.sum[0], rows.sum[1]};
    if (begins) rows.begin(tile);
    rows.finish(s, stage * kTile, memory.masks + at.slot * kMaskPitch);
    if (MASK == kMaskOfKeys) giveBack(b->keysEmpty + at.slot);
    rows.weigh(s, kept);
    waitForProducts<0>();
    giveBack(b->valuesEmpty + last.slot);
    pack(weight, s);
    if (begins) {
      putRows(p, Tile(p, before), sum, value);
      clear(value);
    } else {
      shrink(value, kept);
    }
  }
  waitAt(b->valuesFull + at.slot, at.parity);
  openProducts();
  startValues(value, weight, memory.values + at.slot * kStage);
  waitForProducts<0>();
  putRows(p, tile, rows.sum, value);
}

// Registers go from the group that copies to those that multiply, where these would have too few: of so many threads
// the compiler gives each the same number at first.
__device__ __forceinline__ void becomeCopier() {
  if (kGroups > 1) giveRegisters<(kGroups == 2 ? 24 : 32)>();
}
__device__ __forceinline__ void becomeConsumer() {
  if (kGroups > 1) takeRegisters<(kGroups == 2 ? 240 : 160)>();
}

KERNEL_WITHOUT_WAIT(__launch_bounds__(kConsumers + 128, 1), tenon_stream_attention, StreamParameters) {
  DYNAMIC_SHARED(data, kSharedBytes);
  const Memory memory(data);
  if (threadIdx.x == kConsumers) {
    openBarriers(memory.barriers);
    if (p.keys != 0) {
      fetchMap(p.qMap);
      fetchMap(p.kMap);
      fetchMap(p.vMap);
    }
  }
  __syncthreads();
  afterPredecessor();
  if (threadIdx.x >= kConsumers) {
    becomeCopier();
    if (p.keys == 0) return;
    if (threadIdx.x == kConsumers) copyAll(p, memory);
    if (MASK == kMaskOfKeys && threadIdx.x / 32 == kConsumers / 32 + 1) bringMasks(p, memory);
  } else {
    becomeConsumer();
    if (p.keys == 0) return putNothing(p);
    attend(p, memory);
  }
}
