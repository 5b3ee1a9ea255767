// Elements combined with others at indices, one after the other in the order of the updates: each row (or element) of
// the data has a list of its updates, which its warp brings into order; or each block looks through all indices for
// those of its own rows, which is quicker while there are few. X: element type; I: type of the indices; JOIN: 0 sum,
// 1 product, 2 maximum, 3 minimum. An index outside its axis changes nothing.
#include "backends/cuda/kernels/indexing/indexing_parameters.h"
#include "index.cuh"

__device__ double combined(double a, double b) {
  if (JOIN == 0) return a + b;
  if (JOIN == 1) return a * b;
  if (a != a) return a;
  return JOIN == 2 ? (a > b ? a : b) : (a < b ? a : b);
}
__device__ i64 combined(i64 a, i64 b) {  // wraps, as what is stored does
  if (JOIN == 0) return (i64)((uint64_t)a + (uint64_t)b);
  if (JOIN == 1) return (i64)((uint64_t)a * (uint64_t)b);
  return JOIN == 2 ? (a > b ? a : b) : (a < b ? a : b);
}
template <typename C>
struct SumOf {
  typedef C Type;
};
template <>
struct SumOf<float> {
  typedef double Type;
};
__device__ void storeSum(const ScatterReduceParameters& p, i64 at, double sum) { store<X>(p.y, at, (ComputeOf<X>)sum); }
template <typename T = X>
__device__ void storeSum(const ScatterReduceParameters& p, i64 at, i64 sum) {
  ((T*)p.y)[at] = (T)sum;
}

// The row that an update goes to; none where its index is outside.
constexpr unsigned kNoRow = ~0u;
__device__ inline unsigned rowOf(const ScatterReduceParameters& p, i64 update) {
  i64 at[2];
  locate(p.space, (unsigned)update, at);
  i64 index = load<I>(p.indices, at[0]);
  return inside(index, p.extent) ? (unsigned)(at[1] + index * p.axisStride) : kNoRow;
}

KERNEL(tenon_scatter_reduce_count, ScatterReduceParameters) {
  const i64 update = globalIndex();
  if (update >= p.count) return;
  const unsigned row = rowOf(p, update);
  p.targets[update] = row;
  p.places[update] = row == kNoRow ? kNoRow : addGlobal(&p.counts[row], 1);
}

// Counts of a block of rows: a warp has neighbouring ones, 32 at a time.
__device__ inline void readCounts(const ScatterReduceParameters& p, i64 first, unsigned (&own)[kScatterItems]) {
#pragma unroll
  for (int k = 0; k < kScatterItems; ++k) own[k] = first + k * 32 < p.rows ? p.counts[first + k * 32] : 0;
}
__device__ inline i64 firstOfLane() {
  return blockIdx.x * (i64)kScatterBlock + threadIdx.x / 32 * (32 * kScatterItems) + threadIdx.x % 32;
}
KERNEL(tenon_scatter_reduce_sums, ScatterReduceParameters) {
  __shared__ unsigned shared[32];
  unsigned own[kScatterItems];
  readCounts(p, firstOfLane(), own);
  unsigned sum = 0;
#pragma unroll
  for (int k = 0; k < kScatterItems; ++k) sum += own[k];
  sum = blockReduce(sum, Add(), shared);
  if (threadIdx.x == 0) p.sums[blockIdx.x] = sum;
}
KERNEL(tenon_scatter_reduce_starts, ScatterReduceParameters) {
  __shared__ unsigned shared[32], ofWarps[32];
  const int lane = threadIdx.x % 32;
  const i64 first = firstOfLane();
  unsigned own[kScatterItems];
  readCounts(p, first, own);
  unsigned before = 0;
  for (i64 k = threadIdx.x; k < blockIdx.x; k += blockDim.x) before += p.sums[k];
  before = blockReduce(before, Add(), shared);
  unsigned carry = 0;
#pragma unroll
  for (int k = 0; k < kScatterItems; ++k) {
    unsigned upTo = own[k];
    for (int delta = 1; delta < 32; delta *= 2) {
      const unsigned below = shuffleUp(upTo, delta);
      if (lane >= delta) upTo += below;
    }
    own[k] = carry + upTo - own[k];
    carry += shuffleFrom(upTo, 31);
  }
  if (lane == 0) ofWarps[threadIdx.x / 32] = carry;
  __syncthreads();
  for (int k = 0; k < (int)threadIdx.x / 32; ++k) before += ofWarps[k];
#pragma unroll
  for (int k = 0; k < kScatterItems; ++k) {
    if (first + k * 32 < p.rows) p.starts[first + k * 32] = before + own[k];
  }
}
KERNEL(tenon_scatter_reduce_lists, ScatterReduceParameters) {
  const i64 update = globalIndex();
  if (update >= p.count) return;
  const unsigned row = p.targets[update];
  if (row != kNoRow) p.lists[p.starts[row] + p.places[update]] = (unsigned)update;
}

// The updates of a list in order: visit(update, votes), where lanes whose votes are set have one.
template <typename Visit>
__device__ inline void eachOfList(const ScatterReduceParameters& p, unsigned row, unsigned begin, unsigned count,
                                  Visit visit) {
  constexpr unsigned kMostRanked = 2048;
  const int lane = threadIdx.x % 32;
  if (count <= 32) {
    unsigned update = lane < (int)count ? p.lists[begin + lane] : kNoRow;
    for (int size = 2; size <= 32; size *= 2) {
      for (int distance = size / 2; distance > 0; distance /= 2) {
        const unsigned other = shuffleXor(update, distance);
        const bool isLower = ((lane & distance) == 0) == ((lane & size) == 0);
        update = (other < update) == isLower ? other : update;
      }
    }
    return visit(update, count == 32 ? ~0u : (1u << count) - 1);
  }
  if (count > kMostRanked) {  // looks at all, which are in order
    for (i64 first = 0; first < p.count; first += 32) {
      const i64 update = first + lane;
      const unsigned votes = votesOf(update < p.count && p.targets[update] == row);
      if (votes != 0) visit((unsigned)update, votes);
    }
    return;
  }
  for (unsigned k = lane; k < count; k += 32) {
    const unsigned update = p.lists[begin + k];
    unsigned rank = 0;
    for (unsigned other = 0; other < count; ++other) rank += p.lists[begin + other] < update ? 1 : 0;
    p.ordered[begin + rank] = update;
  }
  syncWarp();
  for (unsigned first = 0; first < count; first += 32) {
    const unsigned there = count - first < 32 ? count - first : 32;
    const unsigned update = lane < (int)there ? p.ordered[begin + first + lane] : kNoRow;
    visit(update, there == 32 ? ~0u : (1u << there) - 1);
  }
}

typedef typename SumOf<ComputeOf<X>>::Type Sum;

// Lanes have columns; so many updates are on their way together.
__device__ inline void combineColumns(const ScatterReduceParameters& p, unsigned row, unsigned begin, unsigned count) {
  constexpr int kColumns = 8, kTogether = 4;
  for (i64 first = threadIdx.x % 32; first - threadIdx.x % 32 < p.inner; first += 32 * kColumns) {
    const i64 at = (i64)row * p.inner + first;
    Sum sums[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sums[c] = first + 32 * c < p.inner ? (Sum)load<X>(p.data, at + 32 * c) : Sum(0);
    eachOfList(p, row, begin, count, [&](unsigned update, unsigned votes) {
      while (votes != 0) {
        ComputeOf<X> values[kTogether][kColumns];
        bool isThere[kTogether];
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
          isThere[k] = votes != 0;
          const i64 from = (i64)shuffleFrom(update, isThere[k] ? lowestBit(votes) : 0) * p.inner + first;
          votes &= votes - 1;
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            if (isThere[k] && first + 32 * c < p.inner) values[k][c] = load<X>(p.updates, from + 32 * c);
          }
        }
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            if (isThere[k] && first + 32 * c < p.inner) sums[c] = combined(sums[c], (Sum)values[k][c]);
          }
        }
      }
    });
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      if (first + 32 * c < p.inner) storeSum(p, at + 32 * c, sums[c]);
    }
  }
}
// Lanes have updates, of one column after another.
__device__ inline void combineUpdates(const ScatterReduceParameters& p, unsigned row, unsigned begin, unsigned count) {
  for (i64 column = 0; column < p.inner; ++column) {
    const i64 at = (i64)row * p.inner + column;
    Sum sum = load<X>(p.data, at);
    eachOfList(p, row, begin, count, [&](unsigned update, unsigned votes) {
      const bool isMine = votes >> threadIdx.x % 32 & 1;
      const Sum value = isMine ? (Sum)load<X>(p.updates, (i64)update * p.inner + column) : Sum(0);
      for (; votes != 0; votes &= votes - 1) sum = combined(sum, shuffleFrom(value, lowestBit(votes)));
    });
    if (threadIdx.x % 32 == 0) storeSum(p, at, sum);
  }
}

constexpr int kFewColumns = 8;
KERNEL(tenon_scatter_reduce, ScatterReduceParameters) {
  const i64 warp = globalIndex() / 32;
  unsigned row = (unsigned)warp;
  if (warp >= (p.byRow ? p.rows : p.count)) return;
  if (!p.byRow) {
    row = p.targets[warp];
    if (row == kNoRow || p.places[warp] != 0) return;  // another warp has the row
  }
  const unsigned count = p.counts[row];
  if (p.inner <= kFewColumns) combineUpdates(p, row, p.starts[row], count);
  else combineColumns(p, row, p.starts[row], count);
}

// Parts are whole sets of 32 but for the last one.
__device__ inline i64 endOfPart(const ScatterReduceParameters& p, int warp) {
  const int warps = blockDim.x / 32;
  const i64 end = (warp + 1) * ((p.count + 32 * warps - 1) / (32 * warps) * 32);
  return p.count < end ? p.count : end;
}

// The warp's part of the indices in order: visits the update and the row of the block that it goes to, or -1.
template <typename Visit>
__device__ inline void eachIndex(const ScatterReduceParameters& p, i64 firstRow, Visit visit) {
  constexpr int kAhead = 8;  // that are on their way together
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const i64 end = endOfPart(p, warp);
  for (i64 base = endOfPart(p, warp - 1); base < end; base += 32 * kAhead) {
    i64 index[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const i64 i = base + 32 * k + lane;
      index[k] = i < end ? load<I>(p.indices, i) : -1;
      const bool isIn = i < end && inside(index[k], p.extent) && index[k] >= firstRow;
      index[k] = isIn && index[k] < firstRow + p.rowsOfBlock ? index[k] - firstRow : -1;
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) visit(base + 32 * k + lane, (int)index[k]);
  }
}

typedef uint64_t Key;
constexpr Key kNoKey = ~0ull;
constexpr int kVoteWords = 8192;  // of a block: for each 32 indices which of them are its own, where there is room

// Rows of the block, in whichever place its keys stand: they are in the order of the updates.
KERNEL_BOUNDED(__launch_bounds__(1024), tenon_scatter_reduce_rows, ScatterReduceParameters) {
  __shared__ unsigned counts[32], begin, found[kVoteWords];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const i64 firstRow = blockIdx.x * p.rowsOfBlock;
  const bool keeps = p.count <= 32 * kVoteWords;
  const i64 end = endOfPart(p, warp);
  unsigned own = 0;
  eachIndex(p, firstRow, [&](i64 update, int row) {
    const unsigned votes = votesOf(row >= 0);
    if (keeps && lane == 0 && update < end) found[update / 32] = votes;
    own += countBits(votes);
  });
  if (lane == 0) counts[warp] = own;
  __syncthreads();
  unsigned before = 0, all = 0;
  for (int w = 0; w < warps; ++w) {
    before += w < warp ? counts[w] : 0;
    all += counts[w];
  }
  if (threadIdx.x == 0) begin = addGlobal(p.taken, all);
  __syncthreads();
  Key* const keys = p.keys + begin;
  const auto write = [&](i64 update, int row, unsigned votes) {
    if (row >= 0) keys[before + countBits(votes & ((1u << lane) - 1))] = (Key)row << 32 | (Key)update;
    before += countBits(votes);
  };
  if (keeps) {  // only what is the block's own is read again
    for (i64 base = endOfPart(p, warp - 1); base < end; base += 32) {
      const unsigned votes = found[base / 32];
      if (votes == 0) continue;
      i64 index = -1;
      if (votes >> lane & 1) {
        index = load<I>(p.indices, base + lane);
        inside(index, p.extent);
      }
      write(base + lane, index < 0 ? -1 : (int)(index - firstRow), votes);
    }
  } else {
    eachIndex(p, firstRow, [&](i64 update, int row) { write(update, row, votesOf(row >= 0)); });
  }
  __syncthreads();
  constexpr int kColumns = 8;  // of a thread at once
  for (int row = warp; row < p.rowsOfBlock && firstRow + row < p.extent; row += warps) {
    for (i64 column = lane; column - lane < p.inner; column += 32 * kColumns) {
      const i64 at = (firstRow + row) * p.inner + column;
      Sum sums[kColumns];
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        sums[c] = column + 32 * c < p.inner ? (Sum)load<X>(p.data, at + 32 * c) : Sum(0);
      for (unsigned k = 0; k < all; k += 32) {
        const Key key = k + lane < all ? keys[k + lane] : kNoKey;
        for (unsigned votes = votesOf(key != kNoKey && (int)(key >> 32) == row); votes != 0; votes &= votes - 1) {
          const i64 update = shuffleFrom((unsigned)(key & 0xffffffffu), lowestBit(votes));
          const i64 from = update * p.inner + column;
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            if (column + 32 * c < p.inner) sums[c] = combined(sums[c], (Sum)load<X>(p.updates, from + 32 * c));
          }
        }
      }
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        if (column + 32 * c < p.inner) storeSum(p, at + 32 * c, sums[c]);
      }
    }
  }
}
