// Rows of x normalized on their way into a product by warpgroups. As (x - m) s g w + b w = s (x (g w) - m sum(g w)) +
// b w for each column of w, the product reads the rows as they are and the scaled weights, and its sums take the two
// numbers of a row, mean m and scale s, and three of a column. The product that computes the rows gives the moments of
// each 64 columns of them; the warpgroups make the two numbers of these while the first rows of x are on their way,
// and can also write the normalized rows, each block its share of the columns.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "prelude.cuh"

struct Moments {  // of rows: x -> (x - mean) * scale; in memory, of a run: sum, spread
  float mean, scale;
};

// x as it is.
struct NotNormalized {
  static const bool kIsOn = false;
  template <typename M>
  struct Rows {
    __device__ __forceinline__ Rows(const Mma90Parameters&, const typename M::Place&) {}
    __device__ __forceinline__ void prepare(const Mma90Parameters&, const typename M::Place&) const {}
  };
  template <typename M>
  __device__ __forceinline__ static void apply(float (&)[M::kWidth], const typename M::Place&, int, int) {}
};

// kCentered: by mean and variance, else by the mean square. kKeeps: the normalized rows are written.
template <bool kCentered, bool kKeeps>
struct Normalized {
  static const bool kIsOn = true;
  static const int kPack = 8;
  static const int kLanes = 8;  // of a row

  // In shared memory: three numbers of each of the tile's columns, 64 columns after 64, then those of its rows.
  template <typename M>
  __device__ __forceinline__ static Moments* momentsOf(const typename M::Place& at) {
    return (Moments*)(at.numbers + 3 * M::kColumns);
  }

  // What becomes of the sums of columns from `column` on, in a row of the tile.
  template <typename M>
  __device__ __forceinline__ static void apply(float (&value)[M::kWidth], const typename M::Place& at, int row,
                                               int column) {
    const Moments of = momentsOf<M>(at)[row];
    const float* const from = at.numbers + column / kMma90Columns * kMma90ColumnNumbers + column % kMma90Columns;
#pragma unroll
    for (int i = 0; i < M::kWidth; ++i) {
      const float product = kCentered ? fmaf(-of.mean, from[kMma90Columns + i], value[i]) : value[i];
      value[i] = fmaf(product, of.scale * from[i], from[2 * kMma90Columns + i]);
    }
  }

  // The tile's rows, several at once, each by neighbouring lanes of the warpgroups.
  template <typename M>
  struct Rows {
    static const int kApart = M::kConsumers / kLanes;
    static const int kPasses = (M::kRows + kApart - 1) / kApart;
    static const int kBatch = kPasses < 4 ? kPasses : 4;  // rows of a lane that are asked for at once
    static_assert(M::kRows % (32 / kLanes) == 0, "all lanes of a warp take part in the same sums");
    int lane, row;
    int first, count;  // packs of a row that the block keeps
    Pack<float, kPack> scale, shift;

    // Ahead of the launch in front.
    __device__ __forceinline__ Rows(const Mma90Parameters& p, const typename M::Place& at)
        : lane(threadIdx.x % kLanes), row(threadIdx.x / kLanes) {
      if (!kKeeps) return;
      const int packs = p.norm.inner / kPack;
      const int shares = gridDim.y * at.blocks;
      const int own = at.tileOfColumns * at.blocks + at.block;
      first = packs * own / shares;
      count = packs * (own + 1) / shares - first;
      if (lane < count) loadFactors(p, (first + lane) * kPack);
    }
    __device__ __forceinline__ void loadFactors(const Mma90Parameters& p, int element) {
      scale = *(const Pack<float, kPack>*)(p.norm.elements + element);
      shift = *(const Pack<float, kPack>*)(p.norm.elements + p.norm.inner + element);
    }

    __device__ __forceinline__ void prepare(const Mma90Parameters& p, const typename M::Place& at) {
#pragma unroll 1
      for (int from = row; from < M::kRows; from += kBatch * kApart) prepareBatch(p, at, from);
    }

    // Rows `from`, from + kApart, ..
    __device__ __forceinline__ void prepareBatch(const Mma90Parameters& p, const typename M::Place& at, int from) {
      const int rows = min(M::kRows, p.rows - at.firstRow);
      const i64 firstRow = at.firstRow + from;
      Pack<X, kPack> x[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (kKeeps && lane < count && from + k * kApart < rows) x[k] = load(p, firstRow + k * kApart, lane);
      }
      Moments of[kBatch];
      join(p.norm, firstRow, rows - from, of);
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (from + k * kApart >= rows) break;
        if (lane == 0) momentsOf<M>(at)[from + k * kApart] = of[k];
        if (kKeeps && lane < count) keep(p, firstRow + k * kApart, lane, x[k], of[k]);
      }
      if (!kKeeps || count <= kLanes) return;
      for (int pack = lane + kLanes; pack < count; pack += kLanes) {
        loadFactors(p, (first + pack) * kPack);
#pragma unroll
        for (int k = 0; k < kBatch; ++k) {
          if (from + k * kApart >= rows) break;
          const i64 which = firstRow + k * kApart;
          keep(p, which, pack, load(p, which, pack), of[k]);
        }
      }
      if (lane < count) loadFactors(p, (first + lane) * kPack);
    }

    __device__ __forceinline__ Pack<X, kPack> load(const Mma90Parameters& p, i64 row, int pack) const {
      return *(const Pack<X, kPack>*)((const X*)p.norm.x + offsetOf(p, row, pack));
    }
    __device__ __forceinline__ void keep(const Mma90Parameters& p, i64 row, int pack, const Pack<X, kPack>& x,
                                         const Moments& of) const {
      Pack<X, kPack> result;
#pragma unroll
      for (int e = 0; e < kPack; ++e)
        result.e[e] = Element<X>::store(fmaf((Element<X>::load(x.e[e]) - of.mean) * of.scale, scale.e[e], shift.e[e]));
      *(Pack<X, kPack>*)((X*)p.norm.kept + offsetOf(p, row, pack)) = result;
    }
    __device__ __forceinline__ i64 offsetOf(const Mma90Parameters& p, i64 row, int pack) const {
      return row * p.norm.inner + (first + pack) * kPack;
    }

    // Of whole rows, every kApart-th of `rows` from `row` on: of differences from the mean of a row's first run, so
    // that a mean far from zero costs no digits.
    __device__ __forceinline__ void join(const Mma90Norm& norm, i64 row, int rows, Moments (&to)[kBatch]) const {
      constexpr int kRuns = 2;  // of a lane that are asked for at once
      const int runs = (norm.inner + kMma90Columns - 1) / kMma90Columns;
      const Moments* const from = (const Moments*)norm.moments + row * runs;
      float start[kBatch], sum[kBatch], spread[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) start[k] = sum[k] = spread[k] = 0.f;
      for (int begin = 0; begin < runs; begin += kRuns * kLanes) {
        Moments run[kBatch][kRuns];
#pragma unroll
        for (int k = 0; k < kBatch; ++k) {
#pragma unroll
          for (int r = 0; r < kRuns; ++r) {
            const int i = begin + r * kLanes + lane;
            run[k][r] = {0.f, 0.f};
            if (i < runs && k * kApart < rows) run[k][r] = from[k * kApart * runs + i];
          }
        }
#pragma unroll
        for (int r = 0; r < kRuns; ++r) {
          const int i = begin + r * kLanes + lane;
          const float members = (float)max(min(norm.inner - i * kMma90Columns, kMma90Columns), 1);
          const float part = 1.f / members;
#pragma unroll
          for (int k = 0; k < kBatch; ++k) {
            if (begin + r == 0) start[k] = shuffleFrom(run[k][0].mean * part, threadIdx.x % 32 / kLanes * kLanes);
            const float difference = i < runs ? run[k][r].mean - members * start[k] : 0.f;
            sum[k] += difference;
            spread[k] += fmaf(difference, difference * part, run[k][r].scale);
          }
        }
      }
#pragma unroll
      for (int mask = 1; mask < kLanes; mask *= 2) {
#pragma unroll
        for (int k = 0; k < kBatch; ++k) {
          sum[k] += shuffleXor(sum[k], mask);
          spread[k] += shuffleXor(spread[k], mask);
        }
      }
      const float part = 1.f / (float)norm.inner;
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const float mean = sum[k] * part;
        const float variance = fmaxf(spread[k] * part - mean * mean, 0.f);
        const float whole = start[k] + mean;
        const float scale = rsqrtf(variance + (kCentered ? 0.f : whole * whole) + norm.epsilon);
        // Elements that are all alike are 0 when they are centered, whatever the products' rounding makes of them.
        to[k] = {kCentered ? whole : 0.f, kCentered && variance == 0.f ? 0.f : scale};
      }
    }
  };
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
