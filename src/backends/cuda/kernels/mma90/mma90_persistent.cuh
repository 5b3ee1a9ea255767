// y = x w by warpgroups as mma90.cuh computes it, for many tiles: each block takes one tile after another and its
// copies never stop. Two warpgroups multiply. In turns each has tiles of its own, and one finishes its tile while the
// other one multiplies; else both share each tile's columns. Two blocks of a cluster may take neighbouring tiles of
// columns: each copies half of the rows of x to both. The sums stay in registers and pass through a few bytes of shared
// memory of each warp on their way to rows of y. The including text defines X, A, Products<rows> where the chip has
// warpgroups, and of Finish the epilogue's inputs of a run of columns, those by column apart, and the epilogue.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "mma90_products.cuh"
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

// What becomes of kWidth sums, in one store.
template <typename T, int kWidth>
struct Finished {
  Pack<T, kWidth> pack;

  __device__ __forceinline__ void set(const float (&value)[kWidth]) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) pack.e[i] = Element<T>::store(value[i]);
  }
  __device__ __forceinline__ void store(T* to) const { *(Pack<T, kWidth>*)to = pack; }
};
template <typename T>
struct FinishedHalves {
  unsigned pairs[4];

  __device__ __forceinline__ void set(const float (&value)[8]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = packed<T>(value[2 * i], value[2 * i + 1]);
  }
  __device__ __forceinline__ void store(T* to) const { storeAtOnce(to, pairs); }
};
template <>
struct Finished<f16, 8> : FinishedHalves<f16> {};
template <>
struct Finished<bf16, 8> : FinishedHalves<bf16> {};
template <>
struct Finished<f32, 8> {
  unsigned words[2][4];

  __device__ __forceinline__ void set(const float (&value)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) words[i / 4][i % 4] = (unsigned)__float_as_int(value[i]);
  }
  __device__ __forceinline__ void store(f32* to) const {
    storeAtOnce(to, words[0]);
    storeAtOnce(to + 4, words[1]);
  }
};

// kRowsOfTile: of x, a multiple of 16 up to 256. kRuns: of 64 columns that a warpgroup has. kInTurns: warpgroups have
// tiles of their own. kIsShared: by the two blocks of a cluster. kWidth: columns that one thread finishes at once, 8
// where rows of y are whole packs, else 1.
template <int kRowsOfTile, int kRuns, bool kInTurns, bool kIsShared, int kWidth, bool kWindows, typename Y,
          typename Finish>
struct Mma90Persistent {
  static const int kRows = kRowsOfTile;
  static const int kColumnGroups = kInTurns ? kRuns : 2 * kRuns;
  static const int kColumns = kMma90Columns * kColumnGroups;
  static const int kConsumers = 256;
  static const int kInner = kMma90Bytes / sizeof(X);
  static const int kRowsAt = kMma90TileBytes * kColumnGroups;  // in a stage
  static const int kRowBytes = kMma90Bytes * kRows;
  static const int kStageBytes = kRowsAt + kRowBytes;
  static const int kWarpRows = kMma90PassRows, kWarpColumns = 16;  // that a warp passes through shared memory at once
  static const int kPitch = kMma90PassPitch;
  static const int kOfPass = kWarpRows * kPitch;
  static const int kPasses = kRows / kWarpRows;
  static const int kUnits = kWidth == 8 ? 1 : kWarpRows * kWarpColumns / 32;  // of a lane in a pass
  static const int kAll = kRuns * kPasses;                                    // passes of a tile
  typedef typename Finish::template Inputs<kWidth> Inputs;
  typedef typename Finish::template ColumnInputs<kWidth> ColumnInputs;
  typedef Pack<float, 4> Four;

  struct Place {
    int block;  // of the cluster
    ByteBarrier *full, *empty, *turn;
    unsigned char* ring;
    float* passed;

    __device__ __forceinline__ Place(const Mma90Parameters& p, unsigned char* memory) {
      block = kIsShared ? blockOfCluster() : 0;
      full = (ByteBarrier*)memory;
      empty = full + kMma90MostStages;
      turn = empty + kMma90MostStages;
      ring = memory + kMma90HeadBytes;
      passed = (float*)(ring + p.ringBytes);
    }
  };
  // Tiles of columns side by side in bands of some tiles of rows, down each before the next.
  struct Tile {
    int firstRow, tileOfColumns, firstColumn;

    __device__ __forceinline__ Tile(const Mma90Parameters& p, const Place& at, int number) {
      const auto& order = p.order;
      const int ofBand = order.band * order.across;
      const int band = number / ofBand;
      const int within = number - band * ofBand;
      const int height = min(order.band, order.down - band * order.band);
      const int column = within / height;
      firstRow = (band * order.band + within - column * height) * kRows;
      tileOfColumns = kIsShared ? 2 * column + at.block : column;
      firstColumn = tileOfColumns * kColumns;
    }
    __device__ __forceinline__ int groups(const Mma90Parameters& p) const {  // of 64 columns that w has
      return max(0, min(kColumnGroups, (p.columns - firstColumn + kMma90Columns - 1) / kMma90Columns));
    }
  };
  __device__ __forceinline__ static int firstTile() { return (int)blockIdx.y; }
  __device__ __forceinline__ static int tilesApart() { return (int)gridDim.y; }

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
  static const int kCopied = kIsShared ? kRows / 2 : kRows;
  struct Windows {
    int image, y, x;

    __device__ __forceinline__ Windows(const Mma90Parameters& p, int firstRow) {
      const auto& window = p.window;
      const unsigned first = firstRow;
      image = first / window.image;
      const unsigned within = first - image * window.image.divisor;
      const unsigned row = within / window.row;
      y = (int)row * window.stride[0] - window.before[0];
      x = (int)(within - row * window.row.divisor) * window.stride[1] - window.before[1];
    }
    __device__ __forceinline__ void copy(const Mma90Parameters& p, unsigned char* to, int step,
                                         ByteBarrier* barrier) const {
      const auto& window = p.window;
      const int tap = step / window.chunks;
      const int row = tap / window.width;
      const int channel = (step - tap * window.chunks) * kInner;
      const int xTap = (tap - row * window.width) * window.dilation[1];
      const int yTap = row * window.dilation[0];
      if (kIsShared) copyWindowsToBoth(to, p.x, channel, x, y, image, xTap, yTap, barrier);
      else copyWindows(to, p.x, channel, x, y, image, xTap, yTap, barrier);
    }
  };
  struct Matrix {
    int row;

    __device__ __forceinline__ Matrix(const Mma90Parameters&, int firstRow) : row(firstRow) {}
    __device__ __forceinline__ void copy(const Mma90Parameters& p, unsigned char* to, int step,
                                         ByteBarrier* barrier) const {
      if (kIsShared) copyTileToBoth(to, p.x, step * kInner, row, barrier);
      else copyTile(to, p.x, step * kInner, row, barrier);
    }
  };

  // One thread: opens the barriers and asks for the weights that have a place.
  __device__ __forceinline__ static void begin(const Mma90Parameters& p, const Place& at) {
    constexpr int kWarpsOfStage = (kInTurns ? 4 : 8) * (kIsShared ? 2 : 1);
    for (int slot = 0; slot < p.stages; ++slot) {
      openBarrier(at.full + slot, 1);
      openBarrier(at.empty + slot, kWarpsOfStage);
    }
    for (int group = 0; group < 2; ++group) openBarrier(at.turn + group, 4);
    showBarriers();
    fetchMap(p.x);
    const Tile tile(p, at, firstTile());
    const int groups = tile.groups(p);
    for (int step = 0; step < min(p.steps, p.stages); ++step) copyWeights(p, at, tile, groups, step, step);
  }
  // The same thread: the rows, and what had no place at first.
  template <typename Rows>
  __device__ __forceinline__ static void produce(const Mma90Parameters& p, const Place& at) {
    afterPredecessor();
    showToCopies();
    const int half = at.block * kCopied;  // 0 where rows are not shared
    int ahead = min(p.steps, p.stages);
    int slot = 0;
    unsigned parity = 1;
    for (int number = firstTile(); number < p.order.tiles; number += tilesApart()) {
      const Tile tile(p, at, number);
      const int groups = tile.groups(p);
      const Rows rows(p, tile.firstRow + half);
      for (int step = 0; step < p.steps; ++step) {
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
    if (kIsShared) arriveAtBoth(at.empty + slot);
    else arriveAt(at.empty + slot);
  }

  // Registers as those of wgmma: of each 8 rows two neighbours, of two columns, for each run.
  __device__ __forceinline__ static void multiply(float (&c)[kRuns][kRows / 8][4], const Mma90Parameters& p,
                                                  const Place& at, Slot& slot, int group) {
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
#pragma unroll
      for (int n = 0; n < kRows / 8; ++n) c[run][n][0] = c[run][n][1] = c[run][n][2] = c[run][n][3] = 0.f;
    }
    int before = -1;
#pragma unroll 1
    for (int step = 0; step < p.steps; ++step) {
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

  // What the epilogue reads of a tile comes as far as the cache meanwhile.
  __device__ __forceinline__ static void fetchInputs(const Mma90Parameters& p, const Tile& tile, int group) {
    if (!Finish::kReads) return;
    const int first = tile.firstColumn + (kInTurns ? 0 : group * kRuns * kMma90Columns);
#pragma unroll 1
    for (int i = threadIdx.x % 128; i < kRows * kRuns; i += 128) {
      const int row = tile.firstRow + i / kRuns, column = first + i % kRuns * kMma90Columns;
      if (row < p.rows && column < p.columns) Finish::fetch(p, (i64)row * p.columns + column);
    }
  }

  // What a lane finishes of a pass: a pack of a row, or single columns of some rows. Rows in an order in which lanes
  // that read together read from different banks.
  __device__ __forceinline__ static int rowOf(int lane, int unit) {
    if (kWidth != 8) return 2 * unit + lane / 16;
    const int pair = lane / 2;
    return (pair & 9) | (pair & 2) << 1 | (pair & 4) >> 1;
  }
  __device__ __forceinline__ static int columnOf(int lane) { return kWidth != 8 ? lane % 16 : lane % 2 * 8; }

  // The passes whose inputs have been asked for when one begins: the more sums have left their registers, the more.
  __device__ static constexpr int askedFor(int pass) {
    const int most = pass + 4;
    return pass < 0 || kWidth != 8 ? 0 : most < kAll ? most : kAll;
  }

  __device__ __forceinline__ static void finish(const float (&c)[kRuns][kRows / 8][4], const Mma90Parameters& p,
                                                const Place& at, const Tile& tile, int group) {
    const int lane = threadIdx.x % 32;
    float* const passed = at.passed + threadIdx.x / 32 * 2 * kOfPass;
    float* const to = passed + lane % 4 * 2 * kPitch + lane / 4;
    const float* const from = passed + rowOf(lane, 0) * kPitch + columnOf(lane);
    const int rows = p.rows - tile.firstRow - rowOf(lane, 0);
    const int column = tile.firstColumn + (kInTurns ? 0 : group * kRuns * kMma90Columns) +
                       threadIdx.x % 128 / 32 * kWarpColumns + columnOf(lane);
    i64 asked = (i64)(tile.firstRow + rowOf(lane, 0)) * p.columns + column;
    i64 place = asked;
    const int ofPass = kWarpRows * p.columns;
    const int toNextRun = kMma90Columns - (kPasses - 1) * ofPass;
    ColumnInputs fixed;
    Inputs inputs[kAll];
    float value[2][kUnits][kWidth];
    passOn(c[0], 0, to);
    syncWarp();
    readPass(value[0], from);
    if (kAll > 1) passOn(c[1 / kPasses], 1 % kPasses, to + kOfPass);
#pragma unroll
    for (int all = 0; all < kAll; ++all) {
#pragma unroll
      for (int i = askedFor(all - 1); i < askedFor(all); ++i) {
        inputs[i] = {};  // else they would keep their registers from tile to tile
        if (column + i / kPasses * kMma90Columns < p.columns && i % kPasses * kWarpRows < rows)
          Finish::load(p, asked, inputs[i]);
        asked += i % kPasses == kPasses - 1 ? toNextRun : ofPass;
      }
      const int run = all / kPasses, pass = all % kPasses;
      const bool hasColumn = column + run * kMma90Columns < p.columns;
      if (pass == 0) fixed = {};
      if (pass == 0 && hasColumn) Finish::loadColumns(p, column + run * kMma90Columns, fixed);
      // While a pass is computed the next one is read, and the one behind it goes where this one has been read.
      syncWarp();
      if (all + 1 < kAll) readPass(value[(all + 1) % 2], from + (all + 1) % 2 * kOfPass);
      if (all + 2 < kAll) passOn(c[(all + 2) / kPasses], (all + 2) % kPasses, to + all % 2 * kOfPass);
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        if (!hasColumn || pass * kWarpRows + 2 * unit >= rows) continue;
        const i64 own = place + 2 * unit * p.columns;
        if (kWidth != 8) Finish::load(p, own, inputs[all]);
        Finished<Y, kWidth> result;
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          value[all % 2][unit][i] = Finish::compute(value[all % 2][unit][i], inputs[all], fixed, i);
        result.set(value[all % 2][unit]);
        result.store((Y*)p.data[0] + own);
      }
      place += pass == kPasses - 1 ? toNextRun : ofPass;
    }
  }
  __device__ __forceinline__ static void passOn(const float (&c)[kRows / 8][4], int pass, float* to) {
#pragma unroll
    for (int i = 0; i < 8; ++i) to[(i / 4 * 8 + i % 2) * kPitch + i % 4 / 2 * 8] = c[2 * pass + i / 4][i % 4];
  }
  __device__ __forceinline__ static void readPass(float (&value)[kUnits][kWidth], const float* from) {
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) readPassed(value[unit], from + 2 * unit * kPitch);
  }
  __device__ __forceinline__ static void readPassed(float (&value)[8], const float* from) {
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      const Four four = *(const Four*)(from + i);
#pragma unroll
      for (int e = 0; e < 4; ++e) value[i + e] = four.e[e];
    }
  }
  __device__ __forceinline__ static void readPassed(float (&value)[1], const float* from) { value[0] = *from; }

  __device__ __forceinline__ static void consume(const Mma90Parameters& p, const Place& at) {
    const int group = ofFirstLane(threadIdx.x / 128);
    afterPredecessor();
    Slot slot;
    if (kInTurns && group == 1) slot.advance(p.steps, p.stages);
    unsigned parity = kInTurns ? group ^ 1 : 0;
    const int apart = (kInTurns ? 2 : 1) * tilesApart();
    const int first = firstTile() + (kInTurns ? group * tilesApart() : 0);
    if (first < p.order.tiles) fetchInputs(p, Tile(p, at, first), group);
#pragma unroll 1
    for (int number = first; number < p.order.tiles; number += apart) {
      if (number + apart < p.order.tiles) fetchInputs(p, Tile(p, at, number + apart), group);
      const Tile tile(p, at, number);
      float c[kRuns][kRows / 8][4];
      if (kInTurns) {
        waitAt(at.turn + group, parity);
        parity ^= 1;
      }
      multiply(c, p, at, slot, group);
      if (kInTurns) slot.advance(p.steps, p.stages);
      finish(c, p, at, tile, group);
    }
  }

  __device__ __forceinline__ static void run(const Mma90Parameters& p) {
    CLUSTER_SHARED(memory, kMma90MostShared);
    const Place at(p, memory);
    if (threadIdx.x == kConsumers) begin(p, at);
    releaseSuccessor();
    syncWarp();
    __syncthreads();
    if (kIsShared) {
      arriveAtCluster();
      waitForCluster();
    }
    if (threadIdx.x < kConsumers) {
      takeRegisters<232>();
      consume(p, at);
    } else {
      giveRegisters<40>();
      if (threadIdx.x == kConsumers) {
        if (kWindows) produce<Windows>(p, at);
        else produce<Matrix>(p, at);
      }
      syncWarp();
    }
    if (kIsShared) {  // the other one may still arrive at this one's barriers
      arriveAtCluster();
      waitForCluster();
    }
  }
};
