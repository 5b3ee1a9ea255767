// Rows of x normalized on their way into a product by warpgroups. As (x - m) s g w + b w = s (x (g w) - m sum(g w)) +
// b w for each column of w, the product reads the rows as they are and the scaled weights, and its sums take the two
// numbers of a row, mean m and scale s, and three of a column. The product that computes the rows gives the moments of
// each 64 columns of them. A warpgroup of its own makes the two numbers of them, beside the products; it can also
// write the normalized rows, each block its share of the columns.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "prelude.cuh"

struct Moments {  // of rows: x -> (x - mean) * scale; in memory, of a run: sum, spread
  float mean, scale;
};

// x as it is.
struct NotNormalized {
  static const int kThreads = 0;
  template <typename M>
  struct Columns {
    __device__ __forceinline__ Columns(const typename M::Place&, int) {}
    template <typename Values>
    __device__ __forceinline__ void apply(Values&, const typename M::Place&, int) const {}
  };
  template <typename M>
  __device__ __forceinline__ static void fetch(const Mma90Parameters&, const typename M::Place&) {}
  template <typename M>
  __device__ __forceinline__ static void run(const Mma90Parameters&, const typename M::Place&) {}
};

// kCentered: by mean and variance, else by the mean square. kKeeps: the normalized rows are written.
template <bool kCentered, bool kKeeps>
struct Normalized {
  static const int kThreads = 128;
  static const int kPack = 8;

  // In shared memory: numbers of the tile's rows, then three of each of its columns.
  template <typename M>
  __device__ __forceinline__ static Moments* momentsOf(const typename M::Place& at) {
    return (Moments*)at.moments;
  }
  template <typename M>
  __device__ __forceinline__ static float* columnsOf(const typename M::Place& at) {
    return at.moments + 2 * M::kRows;
  }

  // What a thread's columns are given; they are the same in each of its units.
  template <typename M>
  struct Columns {
    float unit[M::kWidth], sum[M::kWidth], shift[M::kWidth];

    __device__ __forceinline__ Columns(const typename M::Place& at, int column) {
      const float* const from = columnsOf<M>(at) + column;
#pragma unroll
      for (int i = 0; i < M::kWidth; ++i) {
        unit[i] = from[i];
        if (kCentered) sum[i] = from[M::kColumns + i];
        shift[i] = from[2 * M::kColumns + i];
      }
    }
    __device__ __forceinline__ void apply(float (&value)[M::kWidth], const typename M::Place& at, int row) const {
      const Moments of = momentsOf<M>(at)[row];
#pragma unroll
      for (int i = 0; i < M::kWidth; ++i) {
        const float product = kCentered ? fmaf(-of.mean, sum[i], value[i]) : value[i];
        value[i] = fmaf(product, of.scale * unit[i], shift[i]);
      }
    }
  };

  // The block's share of the elements of a row, in packs.
  template <typename M>
  struct Share {
    int first, count;

    __device__ __forceinline__ Share(const Mma90Parameters& p, const typename M::Place& at) {
      const int packs = p.norm.inner / kPack;
      const int shares = gridDim.y * at.blocks;
      const int own = at.tileOfColumns * at.blocks + at.block;
      first = packs * own / shares;
      count = packs * (own + 1) / shares - first;
    }
  };

  // One thread, before the launch in front has ended: factors of the rows on their way to the cache.
  template <typename M>
  __device__ __forceinline__ static void fetch(const Mma90Parameters& p, const typename M::Place& at) {
    if (!kKeeps) return;
    const Share<M> share(p, at);
    if (share.count == 0) return;
    const float* const from = p.norm.elements + share.first * kPack;
    fetchPiece(from, share.count * kPack * sizeof(float));
    fetchPiece(from + p.norm.inner, share.count * kPack * sizeof(float));
  }

  // A pack of the normalized rows, and what it is made of.
  template <typename M>
  struct Unit {
    int row;
    i64 offset;  // negative: there is none
    Pack<float, kPack> scale, shift;
    Pack<X, kPack> x;

    __device__ __forceinline__ void place(const Mma90Parameters& p, const typename M::Place& at, const Share<M>& share,
                                          int unit) {
      const auto& norm = p.norm;
      row = share.count == 0 ? M::kRows : unit / share.count;
      offset = -1;
      if (row >= M::kRows || at.firstRow + row >= p.rows) return;
      const int element = (share.first + unit - row * share.count) * kPack;
      offset = (i64)(at.firstRow + row) * norm.inner + element;
      scale = *(const Pack<float, kPack>*)(norm.elements + element);
      shift = *(const Pack<float, kPack>*)(norm.elements + norm.inner + element);
    }
    __device__ __forceinline__ void load(const Mma90Parameters& p) {
      if (offset >= 0) x = *(const Pack<X, kPack>*)((const X*)p.norm.x + offset);
    }
    __device__ __forceinline__ void store(const Mma90Parameters& p, const typename M::Place& at) const {
      if (offset < 0) return;
      const Moments of = momentsOf<M>(at)[row];
      Pack<X, kPack> result;
#pragma unroll
      for (int e = 0; e < kPack; ++e)
        result.e[e] = Element<X>::store(fmaf((Element<X>::load(x.e[e]) - of.mean) * of.scale, scale.e[e], shift.e[e]));
      *(Pack<X, kPack>*)((X*)p.norm.kept + offset) = result;
    }
  };

  // The normalizing group, beside the products; what it waits for at memory, it asks for at once.
  template <typename M>
  __device__ __forceinline__ static void run(const Mma90Parameters& p, const typename M::Place& at) {
    constexpr int kHeld = 2;
    const auto& norm = p.norm;
    const int thread = threadIdx.x - (M::kThreads - kThreads);
    float* const columns = columnsOf<M>(at);
    const int padded = (p.columns + kMma90Columns - 1) / kMma90Columns * kMma90Columns;
    for (int i = thread; i < 3 * M::kColumns / 4; i += kThreads) {
      const int part = i / (M::kColumns / 4);
      const int column = at.firstColumn + i % (M::kColumns / 4) * 4;
      const bool inside = column < padded;
      copyAsync(columns + 4 * i, norm.columns + (inside ? part * padded + column : 0), inside);
    }
    closeCopies();
    const Share<M> share(p, at);
    Unit<M> held[kHeld];
    if (kKeeps) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i) held[i].place(p, at, share, thread + i * kThreads);
    }
    afterPredecessor();
    if (kKeeps) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i) held[i].load(p);
    }
    constexpr int kTeams = kThreads / kLanes;  // rows at once
    constexpr int kPasses = M::kRows / kTeams;
    static_assert(M::kRows % kTeams == 0, "all lanes take part in the same sums");
#pragma unroll 1
    for (int pass = 0; pass < kPasses; pass += kBatch) {
      const int first = pass * kTeams + thread / kLanes;
      join < kPasses<kBatch ? kPasses : kBatch>(norm, at.firstRow + first,
                                                min(M::kRows - first, p.rows - at.firstRow - first),
                                                momentsOf<M>(at) + first);
    }
    waitForCopies<0>();
    syncWarp();
    __syncthreads();
    __syncthreads();
    if (at.blocks > 1) {
      waitForCluster();
      arriveAtCluster();
      waitForCluster();
    }
    // Behind the barriers, so that nobody waits for it.
    if (!kKeeps) return;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) held[i].store(p, at);
    for (int unit = thread + kHeld * kThreads; unit < M::kRows * share.count; unit += kThreads) {
      held[0].place(p, at, share, unit);
      held[0].load(p);
      held[0].store(p, at);
    }
  }

  static const int kLanes = 16;  // of a row
  static const int kBatch = 4;   // rows that are asked for at once
  // Of whole rows, every eighth of `rows` from `row` on: of differences from the mean of a row's first run, so that a
  // mean far from zero costs no digits.
  template <int kCount>
  __device__ __forceinline__ static void join(const Mma90Norm& norm, i64 row, int rows, Moments* to) {
    constexpr int kApart = kThreads / kLanes;
    const int lane = threadIdx.x % kLanes;
    const int runs = (norm.inner + kMma90Columns - 1) / kMma90Columns;
    const Moments* const from = (const Moments*)norm.moments + row * runs;
    float first[kCount], sum[kCount], spread[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) first[k] = sum[k] = spread[k] = 0.f;
    for (int begin = 0; begin < runs; begin += kLanes) {
      const int i = begin + lane;
      const float members = (float)max(min(norm.inner - i * kMma90Columns, kMma90Columns), 1);
      Moments run[kCount];
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        run[k] = {0.f, 0.f};
        if (i < runs && k * kApart < rows) run[k] = from[k * kApart * runs + i];
      }
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        if (begin == 0) first[k] = shuffleFrom(run[k].mean / members, threadIdx.x % 32 / kLanes * kLanes);
        const float difference = i < runs ? run[k].mean - members * first[k] : 0.f;
        sum[k] += difference;
        spread[k] += fmaf(difference, difference / members, run[k].scale);
      }
    }
#pragma unroll
    for (int mask = 1; mask < kLanes; mask *= 2) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        sum[k] += shuffleXor(sum[k], mask);
        spread[k] += shuffleXor(spread[k], mask);
      }
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float mean = sum[k] / (float)norm.inner;
      const float variance = fmaxf(spread[k] / (float)norm.inner - mean * mean, 0.f);
      const float whole = first[k] + mean;
      const float scale = rsqrtf(variance + (kCentered ? 0.f : whole * whole) + norm.epsilon);
      // Elements that are all alike are 0 when they are centered, whatever the products' rounding makes of them.
      if (lane == 0 && k * kApart < rows)
        to[k * kApart] = {kCentered ? whole : 0.f, kCentered && variance == 0.f ? 0.f : scale};
    }
  }
};

// Sum and spread of what 8 neighbouring lanes have of a run of columns of a row, `members` in all; `isOwn`: whether the
// lane has any, as the first of them has. All lanes of the warp take part; the moments are in each lane.
template <typename Y, int kWidth>
__device__ __forceinline__ Moments momentsOfRun(const Pack<Y, kWidth>& own, bool isOwn, float members) {
  const float first = shuffleFrom(isOwn ? Element<Y>::load(own.e[0]) : 0.f, threadIdx.x % 32 / 8 * 8);
  float sum = 0.f, squares = 0.f;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const float difference = isOwn ? Element<Y>::load(own.e[i]) - first : 0.f;
    sum += difference;
    squares = fmaf(difference, difference, squares);
  }
#pragma unroll
  for (int mask = 1; mask < kMma90Columns / kWidth; mask *= 2) {
    sum += shuffleXor(sum, mask);
    squares += shuffleXor(squares, mask);
  }
  return {fmaf(members, first, sum), fmaxf(squares - sum * (sum / members), 0.f)};
}
