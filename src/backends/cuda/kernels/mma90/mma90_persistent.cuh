// y = x w by warpgroups as mma90.cuh computes it, for many tiles: each block takes one tile after another and its
// copies never stop. Two warpgroups multiply. In turns each has tiles of its own, and one finishes its tile while the
// other one multiplies; else both share each tile's columns. Two blocks of a cluster may take neighbouring tiles of
// columns: each copies half of the rows of x to both. The sums stay in registers until their tile is finished.
// The including text defines X, A, Products<rows> where the chip has warpgroups, and Finish: the epilogue's inputs of
// some columns of a row, those by column apart, and the epilogue.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "mma90_products.cuh"
#include "mma90_windows.cuh"
#include "scalar.cuh"
#include "warp_group.cuh"

// kWidth elements that are kept for later: halves in pairs, as compilers would give a register to each of them.
template <typename T, int kWidth, bool kInPairs = sizeof(T) == 2 && kWidth % 2 == 0>
struct Kept {
  Pack<T, kWidth> pack;

  __device__ __forceinline__ void load(const T* from) { pack = *(const Pack<T, kWidth>*)from; }
  __device__ __forceinline__ T at(int i) const { return pack.e[i]; }
};
template <typename T, int kWidth>
struct Kept<T, kWidth, true> {
  Pack<unsigned, kWidth / 2> pairs;

  __device__ __forceinline__ void load(const T* from) { pairs = *(const Pack<unsigned, kWidth / 2>*)from; }
  __device__ __forceinline__ T at(int i) const { return {(unsigned short)(pairs.e[i / 2] >> i % 2 * 16)}; }
};

// The lines in which 64 elements begin.
template <typename T>
__device__ __forceinline__ void fetchLines(const T* from) {
#pragma unroll
  for (int i = 0; i < kMma90Columns; i += 128 / (int)sizeof(T)) fetchLine(from + i);
}

// kRowsOfTile: of x, a multiple of 16 up to 256. kRunsOfGroup: of 64 columns that a warpgroup has. kTurns: warpgroups
// have tiles of their own. kShares: rows, with the other block of a cluster. kPackWidth: columns that one thread
// finishes at once: 8 where rows of y are whole packs, else 1. kOmits: of windows, a tile has no steps of rows of taps
// that lie outside of the image for all of it; blocks take tiles as p.turns says, since these differ in time. kMore: y
// = x w + x' w', the steps of x' behind those of x. Ending: how sums become rows of y, Passed or Carried.
template <int kRowsOfTile, int kRunsOfGroup, bool kTurns, bool kShares, int kPackWidth, int kAxes, bool kOmits,
          Mma90More kMore, typename Result, typename Epilogue, template <typename> class Ending>
struct Mma90Persistent {
  typedef Result Y;
  typedef Epilogue Finish;
  typedef Ending<Mma90Persistent> End;
  static const int kRows = kRowsOfTile;
  static const int kRuns = kRunsOfGroup;
  static const int kWidth = kPackWidth;
  static const bool kInTurns = kTurns;
  static const int kColumnGroups = kInTurns ? kRuns : 2 * kRuns;
  static const int kColumns = kMma90Columns * kColumnGroups;
  static const int kConsumers = 256;
  static const int kInner = kMma90Bytes / sizeof(X);
  static const int kRowsAt = kMma90TileBytes * kColumnGroups;  // in a stage
  static const int kRowBytes = kMma90Bytes * kRows;
  static const int kStageBytes = kRowsAt + kRowBytes;

  struct Place {
    int block;  // of the cluster
    ByteBarrier *full, *empty, *turn, *ending;
    unsigned char *ring, *passed;  // stages; what the ending has

    __device__ __forceinline__ Place(const Mma90Parameters& p, unsigned char* memory) {
      block = kShares ? blockOfCluster() : 0;
      full = (ByteBarrier*)memory;
      empty = full + kMma90MostStages;
      turn = empty + kMma90MostStages;
      ending = turn + 2;
      ring = memory + kMma90HeadBytes;
      passed = ring + p.ringBytes;
    }
  };
  // Tiles of columns side by side in bands of some tiles of rows, down each before the next.
  struct Tile {
    int firstRow, tileOfColumns, firstColumn;
    int first, steps;  // of the inner extent

    __device__ __forceinline__ Tile(const Mma90Parameters& p, const Place& at, int number) {
      first = 0;
      steps = p.steps;
      if (kOmits) {
        const Mma90Turn turn = p.turns[number];
        number = turn.tile;
        first = turn.first;
        steps = turn.end - turn.first;
      }
      const auto& order = p.order;
      const int ofBand = order.band * order.across;
      const int band = number / ofBand;
      const int within = number - band * ofBand;
      const int height = min(order.band, order.down - band * order.band);
      const int column = within / height;
      firstRow = (band * order.band + within - column * height) * kRows;
      tileOfColumns = kShares ? 2 * column + at.block : column;
      firstColumn = tileOfColumns * kColumns;
    }
    __device__ __forceinline__ int groups(const Mma90Parameters& p) const {  // of 64 columns that w has
      return max(0, min(kColumnGroups, (p.columns - firstColumn + kMma90Columns - 1) / kMma90Columns));
    }
  };
  // Tiles of the block, or of one of its groups.
  __device__ __forceinline__ static int firstTile() { return (int)blockIdx.y; }
  __device__ __forceinline__ static int firstTile(int group) {
    return firstTile() + (kInTurns ? group * (int)gridDim.y : 0);
  }
  __device__ __forceinline__ static int tilesApart() { return (kInTurns ? 2 : 1) * (int)gridDim.y; }
  __device__ __forceinline__ static bool isOver(const Mma90Parameters& p, int number) {
    return number >= p.order.tiles || (kOmits && p.turns[number].tile < 0);
  }
  __device__ __forceinline__ static int stepsOf(const Mma90Parameters& p, int number) {
    if (!kOmits) return p.steps;
    return isOver(p, number) ? 0 : p.turns[number].end - p.turns[number].first;
  }
  // Of a group's columns in a tile the first.
  __device__ __forceinline__ static int columnOf(const Tile& tile, int group) {
    return tile.firstColumn + (kInTurns ? 0 : group * kRuns * kMma90Columns);
  }

  __device__ __forceinline__ static void copyWeights(const Mma90Parameters& p, const Place& at, const Tile& tile,
                                                     int groups, int step, int slot) {
    arriveExpecting(at.full + slot, groups * kMma90TileBytes + kRowBytes);
    unsigned char* const to = at.ring + slot * kStageBytes;
    const unsigned char* from =
        (const unsigned char*)p.w + ((i64)tile.tileOfColumns * kColumnGroups * p.steps + step) * kMma90TileBytes;
#pragma unroll
    for (int group = 0; group < kColumnGroups; ++group) {
      if (group >= groups) break;
      copyPiece(to + group * kMma90TileBytes, from + (i64)group * p.steps * kMma90TileBytes, kMma90TileBytes,
                at.full + slot);
    }
  }

  // The rows that this block copies: all of the tile, or its half of them.
  static const int kCopied = kShares ? kRows / 2 : kRows;
  template <int kOfThese>
  struct Windows {
    Mma90Windows<kOfThese> place;

    __device__ __forceinline__ Windows(const Mma90Parameters& p, const Mma90Window& window, int firstRow)
        : place(p, window, (unsigned)firstRow) {}
    __device__ __forceinline__ void copy(const Mma90Parameters& p, const TileMap& map, const Mma90Window& window,
                                         unsigned char* to, int step, ByteBarrier* barrier) const {
      const int tap = step / window.chunks;
      place.template copy<kShares>(p, map, window, to, (step - tap * window.chunks) * kInner, tap, barrier);
    }
  };
  struct Matrix {
    int row;

    __device__ __forceinline__ Matrix(const Mma90Parameters&, const Mma90Window&, int firstRow) : row(firstRow) {}
    __device__ __forceinline__ void copy(const Mma90Parameters&, const TileMap& map, const Mma90Window&,
                                         unsigned char* to, int step, ByteBarrier* barrier) const {
      if (kShares) copyTileToBoth(to, map, step * kInner, row, barrier);
      else copyTile(to, map, step * kInner, row, barrier);
    }
  };
  typedef Mma90Rows<typename Either<kAxes != 0, Windows<kAxes == 3 ? 3 : 2>, Matrix>::Type,
                    typename Either<kMore == Mma90More::kWindows, Windows<2>, Matrix>::Type, kMore != Mma90More::kNone>
      Rows;

  // One thread: opens the barriers and asks for the weights that have a place.
  __device__ __forceinline__ static void begin(const Mma90Parameters& p, const Place& at) {
    constexpr int kWarpsOfStage = (kInTurns ? 4 : 8) * (kShares ? 2 : 1);
    for (int slot = 0; slot < p.stages; ++slot) {
      openBarrier(at.full + slot, 1);
      openBarrier(at.empty + slot, kWarpsOfStage);
    }
    for (int group = 0; group < 2; ++group) openBarrier(at.turn + group, 4);
    End::openBarriers(at);
    showBarriers();
    fetchMap(p.x);
    if (kMore != Mma90More::kNone) fetchMap(p.more);
    const Tile tile(p, at, firstTile());
    const int groups = tile.groups(p);
    for (int i = 0; i < min(tile.steps, p.stages); ++i) copyWeights(p, at, tile, groups, tile.first + i, i);
  }
  // The same thread: the rows, and what had no place at first.
  __device__ __forceinline__ static void produce(const Mma90Parameters& p, const Place& at) {
    afterPredecessor();
    showToCopies();
    const int half = at.block * kCopied;  // 0 where rows are not shared
    int ahead = min(stepsOf(p, firstTile()), p.stages);
    int slot = 0;
    unsigned parity = 1;
    for (int number = firstTile(); !isOver(p, number); number += (int)gridDim.y) {
      const Tile tile(p, at, number);
      const int groups = tile.groups(p);
      const Rows rows(p, tile.firstRow + half);
      for (int step = tile.first; step < tile.first + tile.steps; ++step) {
        if (ahead > 0) {
          --ahead;
        } else {
          waitAt(at.empty + slot, parity);
          copyWeights(p, at, tile, groups, step, slot);
        }
        rows.copy(p, at.ring + slot * kStageBytes + kRowsAt + half * kMma90Bytes, step, at.full + slot);
        if (++slot == p.stages) {
          slot = 0;
          parity ^= 1;
        }
      }
    }
  }

  // A place in the ring, and the phase of its barriers.
  struct Slot {
    int number = 0;
    unsigned parity = 0;

    __device__ __forceinline__ void advance(int by, int stages) {
      number += by;
      while (number >= stages) {
        number -= stages;
        parity ^= 1;
      }
    }
  };
  __device__ __forceinline__ static void release(const Place& at, int slot) {
    syncWarp();
    if (threadIdx.x % 32 != 0) return;
    if (kShares) arriveAtBoth(at.empty + slot);
    else arriveAt(at.empty + slot);
  }

  // Registers as those of wgmma: of each 8 rows two neighbours, of two columns, for each run.
  __device__ __forceinline__ static void multiply(float (&c)[kRuns][kRows / 8][4], const Mma90Parameters& p,
                                                  const Place& at, Slot& slot, int steps, int group) {
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
#pragma unroll
      for (int n = 0; n < kRows / 8; ++n) c[run][n][0] = c[run][n][1] = c[run][n][2] = c[run][n][3] = 0.f;
    }
    int before = -1;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      waitAt(at.full + slot.number, slot.parity);
      const unsigned char* const b = at.ring + slot.number * kStageBytes + kRowsAt;
      const unsigned char* const a = b - kRowsAt + (kInTurns ? 0 : group * kRuns * kMma90TileBytes);
      openProducts();
#pragma unroll
      for (int byte = 0; byte < kMma90Bytes; byte += 32) {
#pragma unroll
        for (int run = 0; run < kRuns; ++run) Products<kRows>::add(c[run], a + run * kMma90TileBytes + byte, b + byte);
      }
      closeProducts();
      waitForProducts<1>();
      if (before >= 0) release(at, before);
      before = slot.number;
      slot.advance(1, p.stages);
    }
    // The other one has seen no phase of these places: it may look now.
    if (kInTurns && threadIdx.x % 32 == 0) arriveAt(at.turn + (group ^ 1));
    waitForProducts<0>();
    release(at, before);
  }

  __device__ __forceinline__ static void consume(const Mma90Parameters& p, const Place& at) {
    const int group = ofFirstLane(threadIdx.x / 128);
    afterPredecessor();
    End end(p, at, group);
    Slot slot;
    if (kInTurns && group == 1) slot.advance(stepsOf(p, firstTile()), p.stages);
    unsigned parity = kInTurns ? group ^ 1 : 0;
#pragma unroll 1
    for (int number = firstTile(group); !isOver(p, number); number += tilesApart()) {
      end.prepare(p, at, number + tilesApart(), group);
      const Tile tile(p, at, number);
      float c[kRuns][kRows / 8][4];
      if (kInTurns) {
        waitAt(at.turn + group, parity);
        parity ^= 1;
      }
      multiply(c, p, at, slot, tile.steps, group);
      if (kInTurns) slot.advance(stepsOf(p, number + (int)gridDim.y), p.stages);
      end.finish(c, p, at, tile, group);
    }
  }

  __device__ __forceinline__ static void run(const Mma90Parameters& p) {
    CLUSTER_SHARED(memory, kMma90MostShared);
    const Place at(p, memory);
    if (threadIdx.x == kConsumers) begin(p, at);
    releaseSuccessor();
    syncWarp();
    __syncthreads();
    if (kShares) {
      arriveAtCluster();
      waitForCluster();
    }
    if (threadIdx.x < kConsumers) {
      takeRegisters<232>();
      consume(p, at);
    } else {
      giveRegisters<40>();
      const int warp = (threadIdx.x - kConsumers) / 32;
      if (threadIdx.x % 32 == 0) {
        if (warp != 0) End::carry(p, at, warp - 1);
        else produce(p, at);
      }
      syncWarp();
    }
    if (kShares) {  // the other one may still arrive at this one's barriers
      arriveAtCluster();
      waitForCluster();
    }
  }
};
