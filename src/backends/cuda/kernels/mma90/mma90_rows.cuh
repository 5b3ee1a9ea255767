// y = normalization(x w) by warpgroups: blocks of a cluster have the columns of some whole rows together, one tile
// each. Each copies its part of the rows of x to all of them. The epilogue's sums stay in registers until the blocks
// have told each other mean and spread of their columns of each row. What the epilogue reads as y is written comes by
// copies to where the rows are then put together for the copies that take them away. The including text defines X, A,
// Products<rows> where the chip has warpgroups, and Finish, as for mma90_persistent.cuh.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "mma90_persistent.cuh"
#include "warp_group.cuh"

// Sums of what lanes have whose numbers differ by `kMask`: of kCount values each of two gets half.
template <int kMask, int kCount>
__device__ __forceinline__ void addHalves(const float (&from)[kCount], float (&to)[(kCount + 1) / 2]) {
  constexpr int kHalf = (kCount + 1) / 2;
  const bool isUpper = (threadIdx.x & kMask) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const float upper = i + kHalf < kCount ? from[i + kHalf] : 0.f;
    const float sent = isUpper ? from[i] : upper;
    to[i] = (isUpper ? upper : from[i]) + shuffleXor(sent, kMask);
  }
}

// kRowsOfTile: a multiple of 16 up to 256. kGroupsOfBlock: warpgroups, of 64 columns each. kBlocksOfCluster: which have
// all columns of y. kCentered: by mean and variance, else by the mean square. kKeeps: what is normalized is written,
// too.
template <int kRowsOfTile, int kGroupsOfBlock, int kBlocksOfCluster, bool kCentered, bool kKeeps, typename Result,
          typename Epilogue>
struct Mma90WholeRows {
  typedef Result Y;
  typedef Epilogue Finish;
  static const int kRows = kRowsOfTile;
  static const int kGroups = kGroupsOfBlock;
  static const int kBlocks = kBlocksOfCluster;
  static const int kColumns = kMma90Columns * kGroups;  // of a block
  static const int kConsumers = 128 * kGroups;
  static const int kWarps = 4 * kGroups;
  static const int kInner = kMma90Bytes / sizeof(X);
  static const int kRowsAt = kMma90TileBytes * kGroups;  // in a stage
  static const int kRowBytes = kMma90Bytes * kRows;
  static const int kStageBytes = kRowsAt + kRowBytes;
  static const int kRowGroups = kRows / 8, kPasses = kRows / 16;
  static const int kSlots = (kGroups * kRowBytes + kStageBytes - 1) / kStageBytes;  // of the ring, for the tile of y
  typedef typename Finish::template Inputs<2> Inputs;
  typedef typename Finish::template ColumnInputs<1> ColumnInputs;

  // Blocks that copy rows of x, each as many: whole groups of 8.
  __device__ static constexpr int copies(int most) { return kRowGroups % most == 0 ? most : copies(most - 1); }
  static const int kCopies = copies(kBlocks);
  static const int kCopied = kRows / kCopies;

  struct Place {
    int block;  // of the cluster
    int firstRow, firstColumn;
    ByteBarrier *full, *empty, *come;
    unsigned char* ring;
    // In the ring, where the first of the last stages was, so that the copies of what the epilogue reads do not wait
    // for the others: rows of y, each 64 columns by themselves. Beside it what is known of each row: by the warps, by
    // the block, by all.
    int tileSlot;
    unsigned char* tile;
    float *sums, *own, *joined;
    float* received;  // mean and spread from each block

    __device__ __forceinline__ Place(const Mma90Parameters& p, unsigned char* memory) {
      block = kBlocks == 1 ? 0 : blockOfCluster();
      firstRow = (int)blockIdx.z * kRows;
      firstColumn = block * kColumns;
      full = (ByteBarrier*)memory;
      empty = full + kMma90MostStages;
      come = empty + kMma90MostStages;
      ring = memory + kMma90HeadBytes;
      tileSlot = p.steps % p.stages + kSlots <= p.stages ? p.steps % p.stages : 0;
      tile = ring + tileSlot * kStageBytes;
      sums = (float*)(tileSlot > 0 ? ring : ring + kSlots * kStageBytes);
      received = (float*)(ring + p.ringBytes);
      own = sums + kWarps * kRows;
      joined = own + kRows;
    }
  };

  __device__ __forceinline__ static void copyWeights(const Mma90Parameters& p, const Place& at, int step, int slot) {
    arriveExpecting(at.full + slot, kStageBytes);
    unsigned char* const to = at.ring + slot * kStageBytes;
    const unsigned char* const from =
        (const unsigned char*)p.w + ((i64)at.block * kGroups * p.steps + step) * kMma90TileBytes;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      copyPiece(to + group * kMma90TileBytes, from + (i64)group * p.steps * kMma90TileBytes, kMma90TileBytes,
                at.full + slot);
    }
  }
  // One thread: opens the barriers and asks for the weights that have a place.
  __device__ __forceinline__ static void begin(const Mma90Parameters& p, const Place& at) {
    for (int slot = 0; slot < p.stages; ++slot) {
      openBarrier(at.full + slot, 1);
      openBarrier(at.empty + slot, kWarps * kBlocks);
    }
    openBarrier(at.come, 1);
    showBarriers();
    fetchMap(p.x);
    fetchMap(p.y);
    if (Finish::kReads) fetchMap(p.sum);
    if (kKeeps) fetchMap(p.more);
    for (int step = 0; step < min(p.steps, p.stages); ++step) copyWeights(p, at, step, step);
  }
  // The same thread: the rows, and what had no place at first.
  __device__ __forceinline__ static void produce(const Mma90Parameters& p, const Place& at) {
    afterPredecessor();
    showToCopies();
    int slot = 0;
    unsigned parity = 1;
    for (int step = 0; step < p.steps; ++step) {
      if (step >= p.stages) {
        waitAt(at.empty + slot, parity);
        copyWeights(p, at, step, slot);
      }
      if (at.block < kCopies) {
        unsigned char* const to = at.ring + slot * kStageBytes + kRowsAt + at.block * kCopied * kMma90Bytes;
        const int row = at.firstRow + at.block * kCopied;
        if (kBlocks == 1) copyTile(to, p.x, step * kInner, row, at.full + slot);
        else copyTileToBlocks(to, p.x, step * kInner, row, at.full + slot, kBlocks);
      }
      if (++slot == p.stages) {
        slot = 0;
        parity ^= 1;
      }
    }
    if (Finish::kReads) copySummands(p, at);
  }
  __device__ __forceinline__ static void copySummands(const Mma90Parameters& p, const Place& at) {
    for (int slot = at.tileSlot; slot < at.tileSlot + kSlots; ++slot) {
      const int uses = (p.steps - slot + p.stages - 1) / p.stages;
      if (slot < p.steps) waitAt(at.empty + slot, (unsigned)(uses - 1) % 2);
    }
    arriveExpecting(at.come, kGroups * kRowBytes);
    for (int group = 0; group < kGroups; ++group)
      copyTile(at.tile + group * kRowBytes, p.sum, at.firstColumn + group * kMma90Columns, at.firstRow, at.come);
  }

  __device__ __forceinline__ static void release(const Place& at, int slot) {
    syncWarp();
    const int lane = threadIdx.x % 32;
    if (kBlocks == 1 && lane == 0) arriveAt(at.empty + slot);
    if (kBlocks > 1 && lane < kBlocks) arriveAtBlock(at.empty + slot, lane);
  }
  // Registers as those of wgmma: of each 8 rows two neighbours, of two columns.
  __device__ __forceinline__ static void multiply(float (&c)[kRowGroups][4], const Mma90Parameters& p, const Place& at,
                                                  int group) {
#pragma unroll
    for (int n = 0; n < kRowGroups; ++n) c[n][0] = c[n][1] = c[n][2] = c[n][3] = 0.f;
    int slot = 0, before = -1;
    unsigned parity = 0;
#pragma unroll 1
    for (int step = 0; step < p.steps; ++step) {
      waitAt(at.full + slot, parity);
      const unsigned char* const b = at.ring + slot * kStageBytes + kRowsAt;
      const unsigned char* const a = b - kRowsAt + group * kMma90TileBytes;
      openProducts();
#pragma unroll
      for (int byte = 0; byte < kMma90Bytes; byte += 32) Products<kRows>::add(c, a + byte, b + byte);
      closeProducts();
      waitForProducts<1>();
      if (before >= 0) release(at, before);
      before = slot;
      if (++slot == p.stages) {
        slot = 0;
        parity ^= 1;
      }
    }
    waitForProducts<0>();
    release(at, before);
  }

  // The epilogue, and what is normalized put where it is taken away. `own`: the warp's part of the tile as matrices of
  // 8 x 8 are stored.
  __device__ __forceinline__ static void complete(float (&c)[kRowGroups][4], unsigned char* own,
                                                  const ColumnInputs (&fixed)[2]) {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      unsigned bits[4];
      if (Finish::kReads) loadMatricesTransposed(bits, own + pass * 16 * kMma90Bytes);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        Inputs from;
        if (Finish::kReads) Finish::setPair(from, bits[i]);
        float* const sums = c[2 * pass + i / 2] + i % 2 * 2;
        sums[0] = Finish::compute(sums[0], from, 0, fixed[i % 2], 0);
        sums[1] = Finish::compute(sums[1], from, 1, fixed[i % 2], 0);
        if (kKeeps) bits[i] = packed<Y>(sums[0], sums[1]);
      }
      if (kKeeps) storeMatricesTransposed(own + pass * 16 * kMma90Bytes, bits);
    }
  }

  // Of each row what the warp has, by the values of its lanes for two rows of each 8.
  template <typename Value>
  __device__ __forceinline__ static void addRows(const Place& at, const Value& value) {
    constexpr int kFirst = (kRowGroups + 1) / 2, kSecond = (kFirst + 1) / 2, kThird = (kSecond + 1) / 2;
    const int lane = threadIdx.x % 32;
    float* const to = at.sums + (int)(threadIdx.x / 32) * kRows + lane % 4 * 2;
    const int ofSecond = lane / 4 % 2 * kThird, ofFirst = lane / 8 % 2 * kSecond, ofAll = lane / 16 * kFirst;
#pragma unroll
    for (int parity = 0; parity < 2; ++parity) {
      float all[kRowGroups], first[kFirst], second[kSecond], third[kThird];
#pragma unroll
      for (int n = 0; n < kRowGroups; ++n) all[n] = value(n, parity);
      addHalves<16>(all, first);
      addHalves<8>(first, second);
      addHalves<4>(second, third);
#pragma unroll
      for (int i = 0; i < kThird; ++i) {
        const int inSecond = ofSecond + i, inFirst = ofFirst + inSecond, n = ofAll + inFirst;
        if (inSecond < kSecond && inFirst < kFirst && n < kRowGroups) to[8 * n + parity] = third[i];
      }
    }
  }
  __device__ __forceinline__ static float sumOfWarps(const Place& at, int row) {
    float sum = 0.f;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sum += at.sums[warp * kRows + row];
    return sum;
  }
  // From the block's mean and spread of a row those of all, as what is taken away and what multiplies the rest.
  __device__ __forceinline__ static void join(const Mma90Parameters& p, const Place& at, int row) {
    float mean = 0.f, spread = 0.f;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) mean += at.received[2 * block * kRows + row];
    mean *= 1.f / kBlocks;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const float difference = at.received[2 * block * kRows + row] - mean;
      spread += fmaf(difference, difference * (float)kColumns, at.received[(2 * block + 1) * kRows + row]);
    }
    at.joined[2 * row] = mean;
    at.joined[2 * row + 1] = rsqrtf(spread * p.norm.part + p.norm.epsilon);
  }

  __device__ __forceinline__ static void consume(const Mma90Parameters& p, const Place& at) {
    const int group = ofFirstLane(threadIdx.x / 128);
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    afterPredecessor();
    const int column = at.firstColumn + group * kMma90Columns + warp * 16 + lane / 4;
    ColumnInputs fixed[2];
    X scale[2], shift[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      Finish::loadColumns(p, column + 8 * i, fixed[i]);
      scale[i] = ((const X*)p.scale)[column + 8 * i];
      shift[i] = ((const X*)p.shift)[column + 8 * i];
    }
    float c[kRowGroups][4];
    multiply(c, p, at, group);
    unsigned char* const ofGroup = at.tile + group * kRowBytes;
    unsigned char* const own =
        ofGroup + (lane / 16 * 8 + lane % 8) * kMma90Bytes + ((2 * warp + lane / 8 % 2) ^ lane % 8) * 16;
    if (Finish::kReads) waitAt(at.come, 0);
    else if (kKeeps) __syncthreads();  // others still read the place of the tile
    complete(c, own, fixed);
    if (kKeeps) showToProducts();  // and other copies
    const bool takesAway = threadIdx.x % 128 == 0;
    const int firstColumn = at.firstColumn + group * kMma90Columns;
    __syncthreads();  // all stages have been read
    if (kKeeps && takesAway) {
      storeTile(p.more, firstColumn, at.firstRow, ofGroup);
      closeStores();
    }
    if (kCentered) {
      addRows(at, [&](int n, int parity) { return c[n][parity] + c[n][2 + parity]; });
      __syncthreads();
      for (int row = threadIdx.x; row < kRows; row += kConsumers) at.own[row] = sumOfWarps(at, row) * (1.f / kColumns);
      __syncthreads();
    }
    addRows(at, [&](int n, int parity) {
      const float mean = kCentered ? at.own[8 * n + lane % 4 * 2 + parity] : 0.f;
      const float first = c[n][parity] - mean, second = c[n][2 + parity] - mean;
      return fmaf(first, first, second * second);
    });
    __syncthreads();
    for (int row = threadIdx.x; row < kRows; row += kConsumers) {
      const Pack<float, 1> mean{{kCentered ? at.own[row] : 0.f}}, spread{{sumOfWarps(at, row)}};
      float* const to = at.received + 2 * at.block * kRows + row;
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        storeToBlock(to, block, mean);
        storeToBlock(to + kRows, block, spread);
      }
    }
    syncWarp();
    arriveAtCluster();
    waitForCluster();
    for (int row = threadIdx.x; row < kRows; row += kConsumers) join(p, at, row);
    if (kKeeps && takesAway) waitForReadStores<0>();
    __syncthreads();
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      unsigned bits[4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto of = *(const Pack<float, 4>*)(at.joined + 2 * (16 * pass + 8 * half + lane % 4 * 2));
        const auto& sums = c[2 * pass + half];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float factor = Element<X>::load(scale[i]), added = Element<X>::load(shift[i]);
          bits[2 * half + i] = packed<Y>(fmaf((sums[2 * i] - of.e[0]) * of.e[1], factor, added),
                                         fmaf((sums[2 * i + 1] - of.e[2]) * of.e[3], factor, added));
        }
      }
      storeMatricesTransposed(own + pass * 16 * kMma90Bytes, bits);
    }
    showToProducts();
    __syncthreads();
    if (!takesAway) return;
    storeTile(p.y, firstColumn, at.firstRow, ofGroup);
    closeStores();
    waitForStores();
  }
  // The barriers of consume(), for the warp that does not multiply.
  __device__ __forceinline__ static void attend() {
    for (int i = 0; i < (kCentered ? 4 : 2) + (kKeeps && !Finish::kReads ? 1 : 0); ++i) __syncthreads();
    arriveAtCluster();
    waitForCluster();
    __syncthreads();
    __syncthreads();
  }

  __device__ __forceinline__ static void run(const Mma90Parameters& p) {
    CLUSTER_SHARED(memory, kMma90MostShared);
    const Place at(p, memory);
    if (threadIdx.x == kConsumers) begin(p, at);
    releaseSuccessor();
    syncWarp();
    __syncthreads();
    if (kBlocks > 1) {  // the barriers of the others are open
      arriveAtCluster();
      waitForCluster();
    }
    if (threadIdx.x < kConsumers) return consume(p, at);
    if (threadIdx.x == kConsumers) produce(p, at);
    syncWarp();
    attend();
  }
};
