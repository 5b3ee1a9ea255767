// Rows of x normalized on their way into a product by warpgroups. As (x - m) s g w + b w = s (x (g w) - m sum(g w)) +
// b w for each column of w, the product reads the rows as they are and the scaled weights, and its sums take the two
// numbers of a row, mean m and scale s, and three of a column. The product that computes the rows gives the moments of
// each 64 columns of them; the warpgroups make the two numbers of these while their first products are under way, and
// can also write the normalized rows, each block its share of the columns.
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
  static const bool kAhead = true;
  template <typename M>
  struct Rows {
    __device__ __forceinline__ Rows(const Mma90Parameters&, const typename M::Place&) {}
    __device__ __forceinline__ void load(const Mma90Parameters&, const typename M::Place&) {}
    __device__ __forceinline__ void finish(const Mma90Parameters&, const typename M::Place&) {}
  };
  template <typename M>
  struct Columns {
    __device__ __forceinline__ Columns(const typename M::Place&, int) {}
    __device__ __forceinline__ void apply(float (&)[M::kWidth], const typename M::Place&, int) const {}
  };
};

// kCentered: by mean and variance, else by the mean square. kKeeps: the normalized rows are written.
template <bool kCentered, bool kKeeps>
struct Normalized {
  static const bool kIsOn = true;
  static const bool kAhead = kKeeps;  // of the products: beside them the rows would take too many registers
  static const int kPack = 8;
  static const int kLanes = 8;  // of a row
  static const int kRuns = 2;   // of a lane that are asked for at once

  // In shared memory: three numbers of each of the tile's columns, 64 columns after 64, then those of its rows.
  template <typename M>
  __device__ __forceinline__ static Moments* momentsOf(const typename M::Place& at) {
    return (Moments*)(at.numbers + 3 * M::kColumns);
  }

  // Of columns from `column` on; what becomes of their sums in a row of the tile.
  template <typename M>
  struct Columns {
    typedef Pack<float, M::kPack> Some;
    static const int kSome = M::kWidth / M::kPack;
    Some unit[kSome], sum[kSome], shift[kSome];

    __device__ __forceinline__ Columns(const typename M::Place& at, int column) {
      const float* const from = at.numbers + column / kMma90Columns * kMma90ColumnNumbers + column % kMma90Columns;
#pragma unroll
      for (int i = 0; i < kSome; ++i) {
        unit[i] = *(const Some*)(from + i * M::kPack);
        if (kCentered) sum[i] = *(const Some*)(from + kMma90Columns + i * M::kPack);
        shift[i] = *(const Some*)(from + 2 * kMma90Columns + i * M::kPack);
      }
    }
    __device__ __forceinline__ void apply(float (&value)[M::kWidth], const typename M::Place& at, int row) const {
      const Moments of = momentsOf<M>(at)[row];
#pragma unroll
      for (int i = 0; i < M::kWidth; ++i) {
        const int some = i / M::kPack, e = i % M::kPack;
        const float product = kCentered ? fmaf(-of.mean, sum[some].e[e], value[i]) : value[i];
        value[i] = fmaf(product, of.scale * unit[some].e[e], shift[some].e[e]);
      }
    }
  };

  // The tile's rows, several at once, each by neighbouring lanes of the warpgroups.
  template <typename M>
  struct Rows {
    static const int kApart = M::kConsumers / kLanes;
    static const int kPasses = (M::kRows + kApart - 1) / kApart;
    static const int kBatch = kPasses < 4 ? kPasses : 4;  // rows of a lane that are asked for at once
    static_assert(M::kRows % (32 / kLanes) == 0, "all lanes of a warp take part in the same sums");
    struct Batch {
      Moments run[kBatch][kRuns];
      Pack<X, kPack> x[kBatch];
    };
    int lane, row;
    int first = 0, count = 0;  // packs of a row that the block keeps
    Pack<float, kPack> scale, shift;
    Batch ahead;

    // Before the launch in front has ended.
    __device__ __forceinline__ Rows(const Mma90Parameters& p, const typename M::Place& at)
        : lane(threadIdx.x % kLanes), row(threadIdx.x / kLanes) {
      if (!kKeeps) return;
      const int packs = p.norm.inner / kPack;
      const int shares = gridDim.y * at.blocks;
      const int own = at.tileOfColumns * at.blocks + at.block;
      first = packs * own / shares;
      count = packs * (own + 1) / shares - first;
      if (lane < count) loadFactors(p, lane);
    }
    // Behind it; then, while the first products are under way, what is made of what was asked for.
    __device__ __forceinline__ void load(const Mma90Parameters& p, const typename M::Place& at) {
      if (row < M::kRows) load(ahead, p, at, row);
    }
    __device__ __forceinline__ void finish(const Mma90Parameters& p, const typename M::Place& at) {
      if (row < M::kRows) join(ahead, p, at, row);
#pragma unroll 1
      for (int from = row + kBatch * kApart; from < M::kRows; from += kBatch * kApart) {
        load(ahead, p, at, from);
        join(ahead, p, at, from);
      }
    }

   private:
    __device__ __forceinline__ void loadFactors(const Mma90Parameters& p, int pack) {
      const float* const from = p.norm.elements + (first + pack) * kPack;
      scale = *(const Pack<float, kPack>*)from;
      shift = *(const Pack<float, kPack>*)(from + p.norm.inner);
    }
    __device__ __forceinline__ i64 offsetOf(const Mma90Parameters& p, i64 which, int pack) const {
      return which * p.norm.inner + (first + pack) * kPack;
    }
    __device__ __forceinline__ static void loadRuns(Batch& batch, const Mma90Norm& norm, const Moments* from, int begin,
                                                    int rows) {
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
#pragma unroll
        for (int r = 0; r < kRuns; ++r) {
          const int i = begin + r * kLanes;
          batch.run[k][r] = {0.f, 0.f};
          if (i < norm.runs && k * kApart < rows) batch.run[k][r] = from[k * kApart * norm.runs + i];
        }
      }
    }

    // Rows `from`, from + kApart, .. of the tile.
    __device__ __forceinline__ void load(Batch& batch, const Mma90Parameters& p, const typename M::Place& at,
                                         int from) const {
      const int rows = min(M::kRows, p.rows - at.firstRow) - from;
      const i64 which = at.firstRow + from;
      loadRuns(batch, p.norm, (const Moments*)p.norm.moments + which * p.norm.runs, lane, rows);
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (kKeeps && lane < count && k * kApart < rows)
          batch.x[k] = *(const Pack<X, kPack>*)((const X*)p.norm.x + offsetOf(p, which + k * kApart, lane));
      }
    }
    // Sums are of differences from the mean of a row's first run, so that a mean far from zero costs no digits.
    __device__ __forceinline__ void join(Batch& batch, const Mma90Parameters& p, const typename M::Place& at,
                                         int from) {
      const auto& norm = p.norm;
      const int rows = min(M::kRows, p.rows - at.firstRow) - from;
      const i64 which = at.firstRow + from;
      const Moments* const moments = (const Moments*)norm.moments + which * norm.runs;
      float start[kBatch], sum[kBatch], spread[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) sum[k] = spread[k] = 0.f;
      for (int begin = lane; begin - lane < norm.runs; begin += kRuns * kLanes) {
        if (begin != lane) loadRuns(batch, norm, moments, begin, rows);
#pragma unroll
        for (int r = 0; r < kRuns; ++r) {
          const int i = begin + r * kLanes;
          const bool isLast = i >= norm.runs - 1;
          const float members = isLast ? norm.lastMembers : (float)kMma90Columns;
          const float part = isLast ? norm.lastPart : 1.f / kMma90Columns;
#pragma unroll
          for (int k = 0; k < kBatch; ++k) {
            const auto& run = batch.run[k][r];
            if (r == 0 && begin == lane) start[k] = shuffleFrom(run.mean * part, threadIdx.x % 32 / kLanes * kLanes);
            const float difference = i < norm.runs ? fmaf(-members, start[k], run.mean) : 0.f;
            sum[k] += difference;
            spread[k] += fmaf(difference, difference * part, run.scale);
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
      Moments of[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const float mean = sum[k] * norm.part;
        const float variance = fmaxf(spread[k] * norm.part - mean * mean, 0.f);
        const float whole = start[k] + mean;
        const float scale = rsqrtf(variance + (kCentered ? 0.f : whole * whole) + norm.epsilon);
        // Elements that are all alike are 0 when they are centered, whatever the products' rounding makes of them.
        of[k] = {kCentered ? whole : 0.f, kCentered && variance == 0.f ? 0.f : scale};
        if (lane == 0 && k * kApart < rows) momentsOf<M>(at)[from + k * kApart] = of[k];
        if (kKeeps && lane < count && k * kApart < rows) keep(p, which + k * kApart, lane, batch.x[k], of[k]);
      }
      if (kKeeps && count > kLanes) keepMore(p, which, rows, of);
    }
    // The packs that there is no lane for.
    __device__ __forceinline__ void keepMore(const Mma90Parameters& p, i64 which, int rows,
                                             const Moments (&of)[kBatch]) {
      for (int pack = lane + kLanes; pack < count; pack += kLanes) {
        loadFactors(p, pack);
#pragma unroll
        for (int k = 0; k < kBatch; ++k) {
          if (k * kApart >= rows) break;
          const auto x = *(const Pack<X, kPack>*)((const X*)p.norm.x + offsetOf(p, which + k * kApart, pack));
          keep(p, which + k * kApart, pack, x, of[k]);
        }
      }
      if (lane < count) loadFactors(p, lane);
    }
    __device__ __forceinline__ void keep(const Mma90Parameters& p, i64 which, int pack, const Pack<X, kPack>& x,
                                         const Moments& of) const {
      Pack<X, kPack> result;
#pragma unroll
      for (int e = 0; e < kPack; ++e)
        result.e[e] = Element<X>::store(fmaf((Element<X>::load(x.e[e]) - of.mean) * of.scale, scale.e[e], shift.e[e]));
      *(Pack<X, kPack>*)((X*)p.norm.kept + offsetOf(p, which, pack)) = result;
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
