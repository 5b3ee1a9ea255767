// How the blocks of a cluster join the sums of a tile, M: the product (mma90.cuh). Sums travel as they lie in
// registers: of eight rows a thread has four, which one store takes. Each block finishes some of these eights.
#pragma once

#include "bulk_copies.cuh"
#include "prelude.cuh"

template <typename M>
struct Mma90Join {
  static const int kEights = M::kRows / 8;
  static const int kMostEights = (kEights + M::kBlocks - 1) / M::kBlocks;  // of a block
  static const int kPieces = M::kColumns / 16;                             // of rows, each of which a warp has
  typedef Pack<float, 4> Four;                                             // sums of a thread in an eight

  // Of the eights that a block finishes the first; which block finishes one.
  __device__ static constexpr int firstEight(int ofBlock) { return kEights * ofBlock / M::kBlocks; }
  __device__ static constexpr int blockOf(int eight) { return ((eight + 1) * M::kBlocks + kEights - 1) / kEights - 1; }
  // Groups give each other the eights that they do not send, each of which is joined by one of them.
  __device__ __forceinline__ static int innerGroup() { return ofFirstLane(threadIdx.x / 128) / M::kGroupsOfColumns; }
  __device__ __forceinline__ static int pieceOfWarp() {
    return threadIdx.x / 128 % M::kGroupsOfColumns * 4 + threadIdx.x % 128 / 32;
  }
  __device__ __forceinline__ static Four* exchanged(float* sums, int group, int eight) {
    return (Four*)sums + ((group * kEights + eight) * kPieces + pieceOfWarp()) * 32 + threadIdx.x % 32;
  }
  __device__ __forceinline__ static void exchange(const float (&c)[M::kRows / 8][4], float* sums) {
    const int own = innerGroup();
#pragma unroll
    for (int n = 0; n < kEights; ++n) {
      if (n % M::kGroupsOfInner != own) *exchanged(sums, own, n) = {{c[n][0], c[n][1], c[n][2], c[n][3]}};
    }
  }
  // Each eight goes to the block that finishes it, in whose memory all blocks' sums of it come together.
  __device__ __forceinline__ static void send(const float (&c)[M::kRows / 8][4], const typename M::Place& at,
                                              float* sums) {
    const int own = innerGroup();
    float* const to =
        at.received + (at.block * kMostEights * kPieces + pieceOfWarp()) * kMma90PiecePitch + threadIdx.x % 32 * 4;
#pragma unroll
    for (int n = 0; n < kEights; ++n) {
      if (n % M::kGroupsOfInner != own) continue;
      const Four mine = {{c[n][0], c[n][1], c[n][2], c[n][3]}};
      Four sum = mine;
      if (M::kGroupsOfInner > 1) {
#pragma unroll
        for (int k = 0; k < M::kGroupsOfInner; ++k) {
          const Four some = k == own ? mine : *exchanged(sums, k, n);
#pragma unroll
          for (int e = 0; e < 4; ++e) sum.e[e] = k == 0 ? some.e[e] : sum.e[e] + some.e[e];
        }
      }
      storeToBlock(to + (n - firstEight(blockOf(n))) * kPieces * kMma90PiecePitch, blockOf(n), sum);
    }
  }
  // What all blocks have of a unit.
  __device__ __forceinline__ static void joinBlocks(float (&value)[M::kWidth], const typename M::Place& at, int unit) {
    const int row = M::rowOf(unit - at.firstUnit), column = M::columnOf(unit);
    const float* from = at.received + (row / 8 * kPieces + column / 16) * kMma90PiecePitch + column % 8 * 16 +
                        column % 16 / 8 * 2 + row % 8 / 2 * 4 + row % 2;
#pragma unroll
    for (int block = 0; block < M::kBlocks; ++block, from += kMostEights * kPieces * kMma90PiecePitch) {
#pragma unroll
      for (int i = 0; i < M::kWidth; ++i) value[i] = block == 0 ? from[i * 16] : value[i] + from[i * 16];
    }
  }
};
