// Rows of x normalized on their way into a product by warpgroups. As (x - m) s g w + b w = s (x (g w) - m sum(g w)) +
// b w for each column of w, the product reads the rows as they are and the scaled weights, and its sums take the two
// numbers of a row, mean m and scale s, and three of a column. The product that computes the rows gives the moments of
// each 64 columns of them. Warps of their own make the two numbers of these beside the products, each lane those of a
// whole row: in the warpgroups, between their products, that took a microsecond. They can also write the normalized
// rows, each block its share of the columns.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "prelude.cuh"

struct alignas(8) Moments {  // of rows: x -> (x - mean) * scale; in memory, of a run: sum, spread
  float mean, scale;
};

// x as it is.
struct NotNormalized {
  static const bool kIsOn = false;
  template <typename M>
  struct Columns {
    __device__ __forceinline__ Columns(const typename M::Place&, int) {}
    __device__ __forceinline__ void apply(float (&)[M::kWidth], const typename M::Place&, int) const {}
  };
  template <typename M>
  __device__ __forceinline__ static void run(const Mma90Parameters&, const typename M::Place&) {}
  __device__ static constexpr int threads(int) { return 0; }
};

// kCentered: by mean and variance, else by the mean square. kKeeps: the normalized rows are written.
template <bool kCentered, bool kKeeps>
struct Normalized {
  static const bool kIsOn = true;
  static const int kPack = 8;
  static const int kRuns = 12;                    // of a row that a lane asks for at once
  static const int kWarpRows = kKeeps ? 16 : 32;  // that a warp takes at once
  static const int kLanes = 8;                    // of a row that is written
  static const int kHeld = kWarpRows * kLanes / 32;

  // For a tile of so many rows; Mma90Shape::otherWarps() says the same.
  __device__ static constexpr int threads(int rows) {
    return 32 * (!kKeeps ? (rows + 63) / 64 : rows < 64 ? (rows + 15) / 16 : 4);
  }

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

  // The warps beside the products.
  template <typename M>
  __device__ __forceinline__ static void run(const Mma90Parameters& p, const typename M::Place& at) {
    const int thread = threadIdx.x - (M::kThreads - threads(M::kRows));
    const int lane = thread % 32;
    const int rows = min(M::kRows, p.rows - at.firstRow);
    Kept<M> kept(p, at, lane);
    afterPredecessor();
    for (int first = thread / 32 * kWarpRows; first < rows; first += threads(M::kRows) / 32 * kWarpRows) {
      const int many = min(rows - first, kWarpRows);
      kept.load(p, at, first, many);
      if (lane < many) momentsOf<M>(at)[first + lane] = join(p.norm, at.firstRow + first + lane);
      syncWarp();
      kept.store(p, at, first, many);
    }
    waitAt(at.numbered, 0);  // so that nobody else has to
    syncWarp();
    M::attendJoin(at);
  }

  // Of a whole row: of differences from the mean of its first run, so that a mean far from zero costs no digits.
  __device__ __forceinline__ static Moments join(const Mma90Norm& norm, i64 row) {
    const Moments* const from = (const Moments*)norm.moments + row * norm.runs;
    float start = 0.f, sum = 0.f, spread = 0.f;
    for (int begin = 0; begin < norm.runs; begin += kRuns) {
      Moments run[kRuns];
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        run[r] = {0.f, 0.f};
        if (begin + r < norm.runs) run[r] = from[begin + r];
      }
      if (begin == 0) start = run[0].mean * (norm.runs == 1 ? norm.lastPart : 1.f / kMma90Columns);
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        const bool isLast = begin + r == norm.runs - 1;
        const float members = isLast ? norm.lastMembers : (float)kMma90Columns;
        const float difference = begin + r < norm.runs ? fmaf(-members, start, run[r].mean) : 0.f;
        sum += difference;
        spread += fmaf(difference, difference * (isLast ? norm.lastPart : 1.f / kMma90Columns), run[r].scale);
      }
    }
    const float mean = sum * norm.part;
    const float variance = fmaxf(spread * norm.part - mean * mean, 0.f);
    const float whole = start + mean;
    const float scale = rsqrtf(variance + (kCentered ? 0.f : whole * whole) + norm.epsilon);
    // Elements that are all alike are 0 when they are centered, whatever the products' rounding makes of them.
    return {kCentered ? whole : 0.f, kCentered && variance == 0.f ? 0.f : scale};
  }

  // The block's share of the packs of each row; a lane has one of them, in each fourth row. There are seldom more than
  // eight.
  template <typename M>
  struct Kept {
    int begin = 0, end = 0;  // packs of a row
    int lane;
    Pack<float, kPack> scale, shift;
    Pack<X, kPack> x[kHeld];

    __device__ __forceinline__ Kept(const Mma90Parameters& p, const typename M::Place& at, int ofWarp) : lane(ofWarp) {
      if (!kKeeps) return;
      const int packs = p.norm.inner / kPack;
      const int shares = gridDim.y * M::kBlocks;
      const int own = at.tileOfColumns * M::kBlocks + at.block;
      begin = packs * own / shares + lane % kLanes;
      end = packs * (own + 1) / shares;
      loadFactors(p, begin);
    }
    __device__ __forceinline__ void load(const Mma90Parameters& p, const typename M::Place& at, int first, int many) {
      if (kKeeps) loadRows(p, at, begin, first, many);
    }
    __device__ __forceinline__ void store(const Mma90Parameters& p, const typename M::Place& at, int first, int many) {
      if (!kKeeps) return;
      storeRows(p, at, begin, first, many);
      for (int pack = begin + kLanes; pack < end; pack += kLanes) {
        loadFactors(p, pack);
        loadRows(p, at, pack, first, many);
        storeRows(p, at, pack, first, many);
      }
      if (begin + kLanes < end) loadFactors(p, begin);
    }

   private:
    __device__ __forceinline__ void loadFactors(const Mma90Parameters& p, int pack) {
      if (pack >= end) return;
      scale = *(const Pack<float, kPack>*)(p.norm.elements + pack * kPack);
      shift = *(const Pack<float, kPack>*)(p.norm.elements + p.norm.inner + pack * kPack);
    }
    __device__ __forceinline__ i64 offsetOf(const Mma90Parameters& p, const typename M::Place& at, int pack,
                                            int row) const {
      return (at.firstRow + row) * (i64)p.norm.inner + pack * kPack;
    }
    __device__ __forceinline__ int rowOf(int i) const { return lane / kLanes + i * (32 / kLanes); }
    __device__ __forceinline__ void loadRows(const Mma90Parameters& p, const typename M::Place& at, int pack, int first,
                                             int many) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        if (pack < end && rowOf(i) < many)
          x[i] = *(const Pack<X, kPack>*)((const X*)p.norm.x + offsetOf(p, at, pack, first + rowOf(i)));
      }
    }
    __device__ __forceinline__ void storeRows(const Mma90Parameters& p, const typename M::Place& at, int pack,
                                              int first, int many) const {
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        if (pack >= end || rowOf(i) >= many) continue;
        const Moments of = momentsOf<M>(at)[first + rowOf(i)];
        Pack<X, kPack> result;
#pragma unroll
        for (int e = 0; e < kPack; ++e) {
          const float value = (Element<X>::load(x[i].e[e]) - of.mean) * of.scale;
          result.e[e] = Element<X>::store(fmaf(value, scale.e[e], shift.e[e]));
        }
        *(Pack<X, kPack>*)((X*)p.norm.kept + offsetOf(p, at, pack, first + rowOf(i))) = result;
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
