// Reductions. X: element type; JOIN: 0 sum, 1 product, 2 maximum, 3 minimum, 4 mean.
#include "backends/cuda/kernels/reduction/reduction_parameters.h"
#include "prelude.cuh"

typedef ComputeOf<X> C;

__device__ C startOf() {
  const bool floating = C(0.5f) != C(0);
  if (JOIN == 1) return C(1);
  if (JOIN == 2) return floating ? C(-infinity()) : C(IntegerLimits<X>::low());
  if (JOIN == 3) return floating ? C(infinity()) : C(IntegerLimits<X>::high());
  return C(0);
}
struct Join {
  __device__ C operator()(C a, C b) const {
    if (JOIN == 1) return a * b;
    if (JOIN == 2) return Max()(a, b);
    if (JOIN == 3) return Min()(a, b);
    return a + b;
  }
};
__device__ void finish(const ReduceParameters& p, i64 output, C value) {
  i64 at[2];
  locate(p.kept, (unsigned)output, at);
  if (JOIN == 4) value = p.total == 0 && C(0.5f) == C(0) ? C(0) : value / (C)p.total;
  store<X>(p.y, at[0], value);
}
__device__ void leave(const ReduceParameters& p, i64 output, C value) {
  if (p.splits == 1) return finish(p, output, value);
  ((C*)p.partial)[blockIdx.y * p.kept.count + output] = value;
}

// A piece of `count` neighbouring elements shared out to `threads` threads: packs of 16 bytes, then what is left.
__device__ C reducePiece(const X* x, i64 count, int thread, int threads) {
  constexpr int kPack = 16 / sizeof(X);
  C chain[4] = {startOf(), startOf(), startOf(), startOf()};
  const i64 packs = (unsigned long long)x % 16 == 0 ? count / kPack : 0;
  i64 i = thread;
  for (; i + threads < packs; i += 2 * threads) {
    const Pack<X, kPack> first = ((const Pack<X, kPack>*)x)[i];
    const Pack<X, kPack> second = ((const Pack<X, kPack>*)x)[i + threads];
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      chain[j % 2] = Join()(chain[j % 2], Element<X>::load(first.e[j]));
      chain[2 + j % 2] = Join()(chain[2 + j % 2], Element<X>::load(second.e[j]));
    }
  }
  if (i < packs) {
    const Pack<X, kPack> last = ((const Pack<X, kPack>*)x)[i];
#pragma unroll
    for (int j = 0; j < kPack; ++j) chain[j % 4] = Join()(chain[j % 4], Element<X>::load(last.e[j]));
  }
  for (i64 k = packs * kPack + thread; k < count; k += threads) chain[0] = Join()(chain[0], Element<X>::load(x[k]));
  return Join()(Join()(chain[0], chain[1]), Join()(chain[2], chain[3]));
}

// Elements first, first + step, ... below `last` of the reduced space, in four chains.
__device__ C reduceSome(const ReduceParameters& p, i64 base, i64 first, i64 last, i64 step) {
  C chain[4] = {startOf(), startOf(), startOf(), startOf()};
  const bool line = p.reduced.axes == 1;
  const i64 stride = p.reduced.stride[0][0];
  i64 i = first;
  for (; i + 3 * step < last; i += 4 * step) {
    C value[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      i64 at[1] = {(i + k * step) * stride};
      if (!line) locate(p.reduced, (unsigned)(i + k * step), at);
      value[k] = load<X>(p.x, base + at[0]);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) chain[k] = Join()(chain[k], value[k]);
  }
  for (; i < last; i += step) {
    i64 at[1] = {i * stride};
    if (!line) locate(p.reduced, (unsigned)i, at);
    chain[0] = Join()(chain[0], load<X>(p.x, base + at[0]));
  }
  return Join()(Join()(chain[0], chain[1]), Join()(chain[2], chain[3]));
}

__device__ i64 firstOf(const ReduceParameters& p) { return blockIdx.y * p.perSplit; }
__device__ i64 lastOf(const ReduceParameters& p) {
  const i64 last = firstOf(p) + p.perSplit;
  return last < p.total ? last : p.total;
}

// A block per output (and split): the reduced elements lie close together.
KERNEL(tenon_reduce_block, ReduceParameters) {
  __shared__ C shared[32];
  i64 at[2];
  locate(p.kept, (unsigned)blockIdx.x, at);
  const i64 first = firstOf(p);
  const i64 last = lastOf(p);
  const bool piece = p.reduced.axes == 1 && p.reduced.stride[0][0] == 1;
  const C value = piece ? reducePiece((const X*)p.x + at[1] + first, last - first, threadIdx.x, blockDim.x)
                        : reduceSome(p, at[1], first + threadIdx.x, last, blockDim.x);
  const C all = blockReduce(value, Join(), shared);
  if (threadIdx.x == 0) leave(p, blockIdx.x, all);
}

// A warp per output: few reduced elements.
KERNEL(tenon_reduce_warp, ReduceParameters) {
  const i64 output = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  if (output >= p.kept.count) return;
  i64 at[2];
  locate(p.kept, (unsigned)output, at);
  C value = reduceSome(p, at[1], firstOf(p) + threadIdx.x % 32, lastOf(p), 32);
  for (int mask = 16; mask > 0; mask /= 2) value = Join()(value, shuffleXor(value, mask));
  if (threadIdx.x % 32 == 0) leave(p, output, value);
}

// 32 neighbouring outputs per block, by 8 warps that share the reduced elements: the kept axis is the close one.
KERNEL(tenon_reduce_columns, ReduceParameters) {
  __shared__ C shared[8][32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const i64 output = (i64)blockIdx.x * 32 + lane;
  C value = startOf();
  if (output < p.kept.count) {
    i64 at[2];
    locate(p.kept, (unsigned)output, at);
    value = reduceSome(p, at[1], firstOf(p) + warp, lastOf(p), 8);
  }
  shared[warp][lane] = value;
  __syncthreads();
  if (warp != 0 || output >= p.kept.count) return;
  for (int k = 1; k < 8; ++k) value = Join()(value, shared[k][lane]);
  leave(p, output, value);
}

// Neighbouring outputs in packs of 16 bytes: p.columns packs side by side (a power of two up to 32), the other threads
// of the block share the reduced elements. kept.count and the strides of kept count packs.
KERNEL(tenon_reduce_packs, ReduceParameters) {
  constexpr int kPack = 16 / sizeof(X);
  constexpr int kInFlight = 4;
  __shared__ C shared[8 * 32 * kPack];
  const int column = threadIdx.x % p.columns;
  const int row = threadIdx.x / p.columns;
  const i64 rows = blockDim.x / p.columns;
  const i64 output = (i64)blockIdx.x * p.columns + column;
  C value[kPack];
#pragma unroll
  for (int j = 0; j < kPack; ++j) value[j] = startOf();
  if (output < p.kept.count) {
    i64 base[2];
    locate(p.kept, (unsigned)output, base);
    const X* x = (const X*)p.x + base[1] * kPack;
    const bool line = p.reduced.axes == 1;
    const i64 stride = p.reduced.stride[0][0];
    const i64 last = lastOf(p);
    for (i64 i = firstOf(p) + row; i < last; i += kInFlight * rows) {
      Pack<X, kPack> pack[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        if (i + k * rows >= last) break;
        i64 at[1] = {(i + k * rows) * stride};
        if (!line) locate(p.reduced, (unsigned)(i + k * rows), at);
        pack[k] = *(const Pack<X, kPack>*)(x + at[0]);
      }
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        if (i + k * rows >= last) break;
#pragma unroll
        for (int j = 0; j < kPack; ++j) value[j] = Join()(value[j], Element<X>::load(pack[k].e[j]));
      }
    }
  }
  for (int mask = 16; mask >= p.columns; mask /= 2) {
#pragma unroll
    for (int j = 0; j < kPack; ++j) value[j] = Join()(value[j], shuffleXor(value[j], mask));
  }
  const int width = p.columns * kPack;
  if (threadIdx.x % 32 < p.columns) {
#pragma unroll
    for (int j = 0; j < kPack; ++j) shared[threadIdx.x / 32 * width + column * kPack + j] = value[j];
  }
  __syncthreads();
  const int warps = blockDim.x / 32;
  for (int k = threadIdx.x; k < width; k += blockDim.x) {
    const i64 pack = (i64)blockIdx.x * p.columns + k / kPack;
    if (pack >= p.kept.count) break;
    C all = shared[k];
    for (int warp = 1; warp < warps; ++warp) all = Join()(all, shared[warp * width + k]);
    if (p.splits > 1) {
      ((C*)p.partial)[((i64)blockIdx.y * p.kept.count + pack) * kPack + k % kPack] = all;
      continue;
    }
    i64 at[2];
    locate(p.kept, (unsigned)pack, at);
    if (JOIN == 4) all = p.total == 0 && C(0.5f) == C(0) ? C(0) : all / (C)p.total;
    store<X>(p.y, at[0] * kPack + k % kPack, all);
  }
}

// Short pieces that lie one behind the other: a block takes p.columns outputs (a power of two from 8 to 256), reads
// their elements in packs, and gives each output an equal part of its threads, at most a warp.
KERNEL(tenon_reduce_segments, ReduceParameters) {
  constexpr int kPack = 16 / sizeof(X);
  __shared__ Pack<X, kPack> tile[kSegmentElements / kPack];
  const i64 first = (i64)blockIdx.x * p.columns;
  const i64 outputs = p.kept.count - first < p.columns ? p.kept.count - first : p.columns;
  const int count = (int)(outputs * p.total);
  const X* x = (const X*)p.x + first * p.total;
  X* staged = (X*)tile;
  const int packs = (unsigned long long)x % 16 == 0 ? count / kPack : 0;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) tile[i] = ((const Pack<X, kPack>*)x)[i];
  for (int i = packs * kPack + threadIdx.x; i < count; i += blockDim.x) staged[i] = x[i];
  __syncthreads();
  const int threads = blockDim.x / p.columns;
  const int output = threadIdx.x / threads;
  C value = startOf();
  if (output < outputs) {
    const X* segment = staged + output * p.total;
    for (int i = threadIdx.x % threads; i < p.total; i += threads) value = Join()(value, Element<X>::load(segment[i]));
  }
  for (int mask = threads / 2; mask > 0; mask /= 2) value = Join()(value, shuffleXor(value, mask));
  if (output < outputs && threadIdx.x % threads == 0) finish(p, first + output, value);
}

// A warp per output.
KERNEL(tenon_reduce_finish, ReduceParameters) {
  const i64 output = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  if (output >= p.kept.count) return;
  C value = startOf();
  for (i64 split = threadIdx.x % 32; split < p.splits; split += 32)
    value = Join()(value, ((const C*)p.partial)[split * p.kept.count + output]);
  for (int mask = 16; mask > 0; mask /= 2) value = Join()(value, shuffleXor(value, mask));
  if (threadIdx.x % 32 == 0) finish(p, output, value);
}
