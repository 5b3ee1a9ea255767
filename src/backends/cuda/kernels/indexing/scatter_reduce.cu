// Elements combined with others at indices, one after the other in the order of the updates: these are sorted by the
// element that they go to, and a thread takes all of one; or each block looks through all indices for those of its own
// rows, which is quicker while there are not too many of both. X: element type; I: type of the indices; JOIN: 0 sum,
// 1 product, 2 maximum, 3 minimum. An index outside its axis changes nothing.
#include "backends/cuda/kernels/indexing/indexing_parameters.h"
#include "index.cuh"
#include "key_sort.cuh"

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

KERNEL(tenon_scatter_reduce_keys, ScatterReduceParameters) {
  const i64 i = globalIndex();
  if (i >= p.count) return;
  i64 at[2];
  locate(p.space, (unsigned)i, at);
  i64 index = load<I>(p.indices, at[0]);
  p.keys[i] = inside(index, p.extent) ? (Key)(at[1] + index * p.axisStride) << 32 | (Key)at[0] : kNoKey;
}

KERNEL(tenon_scatter_reduce, ScatterReduceParameters) {
  const i64 thread = globalIndex();
  const i64 first = thread / p.inner;
  const i64 column = thread - first * p.inner;
  if (first >= p.count) return;
  const Key key = p.keys[first];
  const Key element = key >> 32;
  if (key == kNoKey || (first > 0 && p.keys[first - 1] >> 32 == element)) return;
  typedef typename SumOf<ComputeOf<X>>::Type Sum;
  Sum value = load<X>(p.data, (i64)element * p.inner + column);
  for (i64 k = first; k < p.count && p.keys[k] >> 32 == element; ++k)
    value = combined(value, (Sum)load<X>(p.updates, (i64)(p.keys[k] & 0xffffffffu) * p.inner + column));
  storeSum(p, (i64)element * p.inner + column, value);
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
  typedef typename SumOf<ComputeOf<X>>::Type Sum;
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
