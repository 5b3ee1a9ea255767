// y = x w by warpgroups (sm_90a), w constant and packed. The operands of wgmma are exchanged: its 64 rows are columns
// of w, its columns are rows of x, so that few rows cost little. One warp asks for stages of one or more steps of 128
// bytes of the inner extent, a bulk copy for the tiles of w of each 64 columns and one for the rows of x, those of w
// before the launch in front has ended. Each copy costs time whatever its size. Warpgroups multiply what has come.
// Groups and the blocks of a cluster may share the inner extent: their sums are joined in shared memory in the order of
// the extent, each block finishes its share of the tile. The including text defines X, A, Products<rows> where the chip
// has warpgroups, kInParts, and of Finish the epilogue's inputs of a run of columns, and the epilogue.
// kInParts: f32 as it is. Of each step weights are two tiles of TF32 numbers, what a tile shows and the rest;
// warpgroups put the rest of the rows of x beside these and add up three products. Tensor cores round sums towards
// zero, so that sums of a stage begin at zero and are added to those of the others apart.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "mma90_norm.cuh"
#include "mma90_parts.cuh"
#include "mma90_place.cuh"
#include "mma90_products.cuh"
#include "mma90_subpixels.cuh"
#include "mma90_windows.cuh"
#include "scalar.cuh"
#include "warp_group.cuh"

// kAxes: 0, or rows of x are windows over so many axes, each tile of columns of some of the channels. Norm: what is
// done to rows of x, Normalized or NotNormalized. kMeasures: moments of y are written. kRowsOfTile: of x, a multiple of
// 8 up to 256. kColumnGroups: warpgroups with 64 columns each. kInnerGroups: that share the inner extent: the steps of
// each stage, or else its stages. kBlocksOfCluster: which share it too. kStepsOfStage: its steps. kWidthOfUnit: columns
// that one thread finishes at once, 8 where rows of y are whole packs. kUnitsHeld: such units whose inputs a thread has
// registers for while it multiplies. kMore: y = x w + x' w', the steps of x' behind those of x. kSubpixels: columns are
// channels of several pixels of y.
template <int kRowsOfTile, int kColumnGroups, int kInnerGroups, int kBlocksOfCluster, int kStepsOfStage, int kUnitsHeld,
          int kWidthOfUnit, int kAxes, typename Y, typename Finish, typename Norm, bool kMeasures, Mma90More kMore,
          bool kSubpixels>
struct Mma90 {
  static const bool kWindows = kAxes != 0;
  static const int kRows = kRowsOfTile;
  static const int kBlocks = kBlocksOfCluster;
  static const int kSteps = kStepsOfStage;
  static const int kWidth = kWidthOfUnit;
  static const int kGroups = kColumnGroups * kInnerGroups;
  static const int kConsumers = 128 * kGroups;
  static const int kThreads = kConsumers + 32 + Norm::threads(kRowsOfTile);
  static const int kColumns = kMma90Columns * kColumnGroups;
  static const int kInner = kMma90Bytes / sizeof(X);  // of a step
  static const int kTileBytes = kMma90TileBytes * (kInParts ? 2 : 1);
  static const int kGroupBytes = kTileBytes * kSteps;       // of a stage: the tiles of one group of columns,
  static const int kRowBytes = kMma90Bytes * kRows;         // the rows of one step
  static const int kRowsAt = kGroupBytes * kColumnGroups;   // and where they begin
  static const int kRestAt = kRowsAt + kRowBytes * kSteps;  // the rest of each step's rows
  static const int kStageBytes = kRestAt + (kInParts ? kRowBytes * kSteps : 0);
  static const bool kShareStages = kSteps % kInnerGroups == 0;                    // each group has steps of every stage
  static const int kReaders = kColumnGroups * (kShareStages ? kInnerGroups : 1);  // groups that read a stage
  static const int kPitch = kColumns + 4;                                         // of sums in shared memory
  static const int kUnits = kRows * kColumns / kWidth;
  // Units that a block finishes; those of 64 columns stay together.
  static const int kShare =
      kMeasures ? ((kUnits + kBlocks - 1) / kBlocks + 7) / 8 * 8 : (kUnits + kBlocks - 1) / kBlocks;
  static const int kMost = (kShare + kConsumers - 1) / kConsumers;   // of a thread
  static const int kHeld = kUnitsHeld < kMost ? kUnitsHeld : kMost;  // whose inputs come ahead of the products
  static const int kPack = kWidth < 4 ? kWidth : 4;
  static const int kNumbers = Norm::kIsOn ? 2 * kRows + 3 * kColumns : 0;  // of normalized rows
  typedef typename Finish::template Inputs<kWidth> Inputs;
  typedef typename Finish::template ColumnInputs<kWidth> ColumnInputs;  // of all units of a thread
  typedef Pack<float, kPack> Some;

  typedef Mma90Place<Mma90> Place;

  __device__ __forceinline__ static void copyWeights(const Mma90Parameters& p, const Place& at, int stage, int slot) {
    unsigned char* const to = at.ring + slot * kStageBytes;
#pragma unroll
    for (int group = 0; group < kColumnGroups; ++group) {
      if (!hasTile(p, at, group)) break;
      copyPiece(to + group * kGroupBytes, weightsOf(p, at, group, stage * kSteps), kGroupBytes, at.full + slot);
    }
  }
  __device__ __forceinline__ static bool hasTile(const Mma90Parameters& p, const Place& at, int group) {
    return group == 0 || at.firstColumn + group * kMma90Columns < p.columns;
  }
  __device__ __forceinline__ static const unsigned char* weightsOf(const Mma90Parameters& p, const Place& at, int group,
                                                                   int step) {
    const i64 tile = (i64)(at.tileOfColumns * kColumnGroups + group) * p.steps + at.first + step;
    return (const unsigned char*)p.w + tile * kTileBytes;
  }

  // Where the tile's first window lies, and its stages one after another.
  template <int kOfThese>
  struct Windows {
    Mma90Windows<kOfThese> place;
    int channel;

    __device__ __forceinline__ Windows(const Mma90Parameters& p, const Mma90Window& window, const Place& at)
        : place(p, window, (unsigned)at.firstRow), channel(at.firstChannel) {}
    __device__ __forceinline__ void copy(const Mma90Parameters& p, const TileMap& map, const Mma90Window& window,
                                         unsigned char* to, int first, ByteBarrier* barrier) const {
#pragma unroll
      for (int i = 0; i < kSteps; ++i) {
        const int tap = (first + i) / window.chunks;
        const int at = channel + (first + i - tap * window.chunks) * kInner;
        place.template copy<false>(p, map, window, to + i * kRowBytes, at, tap, barrier);
      }
    }
  };
  struct Matrix {
    int row;

    __device__ __forceinline__ Matrix(const Mma90Parameters&, const Mma90Window&, const Place& at) : row(at.firstRow) {}
    __device__ __forceinline__ void copy(const Mma90Parameters&, const TileMap& map, const Mma90Window&,
                                         unsigned char* to, int first, ByteBarrier* barrier) const {
      if (kSteps == 1) copyTile(to, map, first * kInner, row, barrier);
      else copyTiles(to, map, row, first, barrier);
    }
  };
  // A stage has steps of one product.
  typedef Mma90Rows<typename Either<kWindows, Windows<kAxes == 3 ? 3 : 2>, Matrix>::Type,
                    typename Either<kMore == Mma90More::kWindows, Windows<2>, Matrix>::Type, kMore != Mma90More::kNone>
      Rows;
  __device__ __forceinline__ static void copyRows(const Mma90Parameters& p, const Place& at, const Rows& rows,
                                                  int stage, int slot) {
    rows.copy(p, at.ring + slot * kStageBytes + kRowsAt, at.first + stage * kSteps, at.full + slot);
  }

  // One thread: opens the barriers and asks for the weights that have a place.
  __device__ __forceinline__ static void begin(const Mma90Parameters& p, const Place& at) {
    for (int slot = 0; slot < p.stages; ++slot) {
      openBarrier(at.full + slot, 1);
      openBarrier(at.empty + slot, 4 * kReaders);
      if (kInParts) openBarrier(at.parted + slot, 4 * kReaders);
    }
    if (Norm::kIsOn) openBarrier(at.numbered, 1);
    if (kBlocks > 1) openBarrier(at.joined, 1);
    showBarriers();
    for (int stage = 0; stage < at.stages && stage < p.stages; ++stage) {
      arriveExpecting(at.full + stage, stageBytes(p, at));
      copyWeights(p, at, stage, stage);
    }
    if (Norm::kIsOn) {
      const unsigned bytes = tilesOf(p, at) * (kMma90ColumnNumbers * (unsigned)sizeof(float));
      arriveExpecting(at.numbered, bytes);
      copyPiece(at.numbers, p.norm.columns + at.tileOfColumns * kColumnGroups * kMma90ColumnNumbers, bytes,
                at.numbered);
    }
    if (kBlocks > 1) arriveExpecting(at.joined, kBlocks * ownUnits(at) * kWidth * (unsigned)sizeof(float));
    fetchMap(p.x);
    if (kMore != Mma90More::kNone) fetchMap(p.more);
    // The rest comes as far as the cache, which all rows read it from; one piece is less than 1 MiB.
    constexpr int kMostFetched = 96;
    const int fetched = p.stages * kSteps;
    if (at.count <= fetched || at.firstRow != 0) return;
    for (int group = 0; group < kColumnGroups && hasTile(p, at, group); ++group) {
      fetchPiece(weightsOf(p, at, group, fetched),
                 min(at.count - fetched, kMostFetched / (kInParts ? 2 : 1)) * kTileBytes);
    }
  }
  __device__ __forceinline__ static unsigned tilesOf(const Mma90Parameters& p, const Place& at) {
    return min(kColumnGroups, (p.columns - at.firstColumn + kMma90Columns - 1) / kMma90Columns);
  }
  __device__ __forceinline__ static unsigned stageBytes(const Mma90Parameters& p, const Place& at) {
    return tilesOf(p, at) * kGroupBytes + kSteps * kRowBytes;
  }
  // The same thread: the rows, and what had no place at first.
  __device__ __forceinline__ static void goOn(const Mma90Parameters& p, const Place& at) {
    const Rows rows(p, at);
    afterPredecessor();
    showToCopies();
    int stage = 0;
    for (; stage < at.stages && stage < p.stages; ++stage) copyRows(p, at, rows, stage, stage);
    unsigned parity = 0;
    for (int slot = 0; stage < at.stages; ++stage) {
      waitAt(at.empty + slot, parity);
      arriveExpecting(at.full + slot, stageBytes(p, at));
      copyWeights(p, at, stage, slot);
      copyRows(p, at, rows, stage, slot);
      if (++slot == p.stages) {
        slot = 0;
        parity ^= 1;
      }
    }
  }

  // The group's steps. Registers as those of wgmma: of each 8 rows two neighbours, of two columns.
  __device__ __forceinline__ static void multiply(float (&c)[kRows / 8][4], const Mma90Parameters& p, const Place& at) {
    const int group = ofFirstLane(threadIdx.x / 128);
    const int columnGroup = group % kColumnGroups;
    const int own = kInnerGroups == 1 ? 0 : group / kColumnGroups;
    constexpr int kApart = kShareStages ? 1 : kInnerGroups;
#pragma unroll
    for (int n = 0; n < kRows / 8; ++n) c[n][0] = c[n][1] = c[n][2] = c[n][3] = 0.f;
    int slot = kShareStages ? 0 : own;
    unsigned parity = 0;
    int before = -1;
#pragma unroll 1
    for (int stage = slot; stage < at.stages; stage += kApart) {
      while (slot >= p.stages) {
        slot -= p.stages;
        parity ^= 1;
      }
      waitAt(at.full + slot, parity);
      const unsigned char* const a = at.ring + slot * kStageBytes + columnGroup * kGroupBytes;
      const unsigned char* const b = at.ring + slot * kStageBytes + kRowsAt;
      openProducts();
#pragma unroll
      for (int i = 0; i < kSteps; i += kShareStages ? kInnerGroups : 1) {
        const int step = kShareStages ? i + own : i;
#pragma unroll
        for (int byte = 0; byte < kMma90Bytes; byte += 32) {
          Products<kRows>::add(c, a + step * kMma90TileBytes + byte, b + step * kRowBytes + byte);
        }
      }
      closeProducts();
      waitForProducts<1>();
      syncWarp();
      if (before >= 0 && threadIdx.x % 32 == 0) arriveAt(at.empty + before);
      before = slot;
      slot += kApart;
    }
    waitForProducts<0>();
  }

  __device__ __forceinline__ static void storeSums(const float (&c)[kRows / 8][4], float* sums) {
    const int group = threadIdx.x / 128;
    const int lane = threadIdx.x % 32;
    float* const to = sums + (group / kColumnGroups * kRows + lane % 4 * 2) * kPitch +
                      group % kColumnGroups * kMma90Columns + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int n = 0; n < kRows / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) to[(8 * n + i % 2) * kPitch + i / 2 * 8] = c[n][i];
    }
  }

  __device__ __forceinline__ static int rowOf(int unit) { return unit / (kColumns / kWidth); }
  __device__ __forceinline__ static int columnOf(int unit) { return unit % (kColumns / kWidth) * kWidth; }
  __device__ __forceinline__ static bool isInside(const Mma90Parameters& p, const Place& at, int unit) {
    const bool isTile = at.firstRow + rowOf(unit) < p.rows && at.firstColumn + columnOf(unit) < at.endColumn;
    return isTile && (!kSubpixels || offsetOf(p, at, unit) >= 0);
  }
  __device__ __forceinline__ static i64 offsetOf(const Mma90Parameters& p, const Place& at, int unit) {
    const int row = at.firstRow + rowOf(unit), column = at.firstColumn + columnOf(unit);
    return kSubpixels ? subpixelOffset<kAxes>(p.subpixels, row, column) : (i64)row * p.columns + column;
  }

  // What the block's groups have of a unit, together.
  __device__ __forceinline__ static void joinGroups(float (&value)[kWidth], const float* sums, int unit) {
    const float* const from = sums + rowOf(unit) * kPitch + columnOf(unit);
#pragma unroll
    for (int i = 0; i < kWidth; i += kPack) {
#pragma unroll
      for (int k = 0; k < kInnerGroups; ++k) {
        const Some some = *(const Some*)(from + k * kRows * kPitch + i);
#pragma unroll
        for (int e = 0; e < kPack; ++e) value[i + e] = k == 0 ? some.e[e] : value[i + e] + some.e[e];
      }
    }
  }
  // The thread's unit i, of those that the block finishes; its inputs.
  __device__ __forceinline__ static int unitOf(const Place& at, int i) {
    return at.block * kShare + (int)threadIdx.x + i * kConsumers;
  }
  __device__ __forceinline__ static int ownUnits(const Place& at) {
    return max(min(kShare, kUnits - at.block * kShare), 0);
  }
  __device__ __forceinline__ static bool isOwn(const Mma90Parameters& p, const Place& at, int i) {
    return (int)threadIdx.x + i * kConsumers < ownUnits(at) && isInside(p, at, unitOf(at, i));
  }
  __device__ __forceinline__ static void load(const Mma90Parameters& p, const Place& at, int i, Inputs& inputs) {
    if (isOwn(p, at, i)) Finish::load(p, offsetOf(p, at, unitOf(at, i)), inputs);
  }

  // Each unit goes to the block that finishes it, in whose memory all blocks' values of it come together; what has come
  // counts at a barrier, which costs less than one of all threads of the cluster.
  __device__ __forceinline__ static void send(const Place& at, const float* sums) {
#pragma unroll 2
    for (int unit = threadIdx.x; unit < kUnits; unit += kConsumers) {
      float value[kWidth];
      joinGroups(value, sums, unit);
      const int block = unit / kShare;
      float* const to = at.received + (at.block * (kWidth / kPack) * kShare + unit - block * kShare) * kPack;
#pragma unroll
      for (int i = 0; i < kWidth; i += kPack) {
        Some some;
#pragma unroll
        for (int e = 0; e < kPack; ++e) some.e[e] = value[i + e];
        sendToBlock(to + i * kShare, block, some, at.joined);
      }
    }
  }
  __device__ __forceinline__ static void joinBlocks(float (&value)[kWidth], const Place& at, int own) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < kWidth; i += kPack) {
        const int place = (block * (kWidth / kPack) + i / kPack) * kShare + own;
        const Some some = *(const Some*)(at.received + place * kPack);
#pragma unroll
        for (int e = 0; e < kPack; ++e) value[i + e] = block == 0 ? some.e[e] : value[i + e] + some.e[e];
      }
    }
  }

  typedef typename Norm::template Columns<Mma90> NormColumns;
  __device__ __forceinline__ static void finishUnit(const Mma90Parameters& p, const Place& at, const float* sums, int i,
                                                    const NormColumns& columns, const Inputs& inputs,
                                                    const ColumnInputs& fixed) {
    const int unit = unitOf(at, i);
    const bool own = isOwn(p, at, i);
    if (!kMeasures && !own) return;
    if (kMeasures && i * kConsumers + (int)threadIdx.x / 32 * 32 >= ownUnits(at)) return;
    Pack<Y, kWidth> result;
    if (own) {
      float value[kWidth];
      if (kBlocks == 1) joinGroups(value, sums, unit);
      else joinBlocks(value, at, threadIdx.x + i * kConsumers);
      columns.apply(value, at, rowOf(unit));
#pragma unroll
      for (int e = 0; e < kWidth; ++e) result.e[e] = Element<Y>::store(Finish::compute(value[e], inputs, fixed, e));
      *(Pack<Y, kWidth>*)((Y*)p.data[0] + offsetOf(p, at, unit)) = result;
    }
    if (!kMeasures) return;
    const int column = (at.firstColumn + columnOf(unit)) / kMma90Columns;
    const Moments run = momentsOfRun(result, own, (float)min(p.columns - column * kMma90Columns, kMma90Columns));
    const int runs = (p.columns + kMma90Columns - 1) / kMma90Columns;
    if (own && threadIdx.x % 8 == 0) ((Moments*)p.moments)[(at.firstRow + rowOf(unit)) * (i64)runs + column] = run;
  }
  // One unit after the other by the same few instructions: unrolled, each took up to twice as long, most likely since
  // every launch fetches them anew.
  __device__ __forceinline__ static void finish(const Mma90Parameters& p, const Place& at, const float* sums,
                                                Inputs (&held)[kHeld], const ColumnInputs& fixed) {
    const NormColumns columns(at, columnOf(unitOf(at, 0)));
#pragma unroll 1
    for (int i = 0; i < kMost; ++i) {
      finishUnit(p, at, sums, i, columns, held[0], fixed);
#pragma unroll
      for (int k = 0; k + 1 < kHeld; ++k) held[k] = held[k + 1];
      if (kHeld < kMost) load(p, at, i + kHeld, held[kHeld - 1]);
    }
  }

  __device__ __forceinline__ static void consume(const Mma90Parameters& p, const Place& at) {
    afterPredecessor();
    ColumnInputs fixed;
    int column = at.firstColumn + columnOf(unitOf(at, 0));
    const bool isColumn = column < at.endColumn;
    if (kSubpixels) column -= (int)((unsigned)column / p.subpixels.channels * p.subpixels.channels.divisor);
    if (isColumn) Finish::loadColumns(p, column, fixed);
    Inputs held[kHeld];
#pragma unroll
    for (int i = 0; i < kHeld; ++i) load(p, at, i, held[i]);
    float c[kRows / 8][4];
    if (kInParts) Mma90Parts<Mma90, kColumnGroups, kInnerGroups>::multiply(c, p, at);
    else multiply(c, p, at);
    float* const sums = (float*)at.ring;
    __syncthreads();  // all stages have been read
    storeSums(c, sums);
    __syncthreads();
    if (kBlocks > 1) {
      waitForCluster();  // the others are there
      send(at, sums);
      waitAt(at.joined, 0);
    }
    finish(p, at, sums, held, fixed);
  }

  // The barriers of consume(), for warps that do not multiply.
  __device__ __forceinline__ static void attendJoin(const Place& at) {
    __syncthreads();
    __syncthreads();
    if (kBlocks > 1) waitForCluster();
  }

  __device__ __forceinline__ static void run(const Mma90Parameters& p) {
    CLUSTER_SHARED(memory, kMma90MostShared);
    const Place at(p, memory);
    if (threadIdx.x == kConsumers) begin(p, at);
    releaseSuccessor();
    syncWarp();
    __syncthreads();
    if (kBlocks > 1) announceToCluster();
    if (threadIdx.x < kConsumers) return consume(p, at);
    if (threadIdx.x >= kConsumers + 32) return Norm::template run<Mma90>(p, at);
    if (threadIdx.x == kConsumers) goOn(p, at);
    syncWarp();
    attendJoin(at);
  }
};
