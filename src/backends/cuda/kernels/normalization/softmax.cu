// Softmax along an axis, in f32. X: element type.
#include "backends/cuda/kernels/normalization/normalization_parameters.h"
#include "prelude.cuh"

__device__ i64 lineOffset(const SoftmaxParameters& p, i64 line) {
  i64 at[1];
  locate(p.lines, (unsigned)line, at);
  return at[0];
}

// A warp per line, whose elements stay in registers.
template <int kItems>
__device__ void softmaxWarp(const SoftmaxParameters& p) {
  const i64 line = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (line >= p.lines.count) return;
  const int lane = threadIdx.x % 32;
  const i64 base = lineOffset(p, line);
  float value[kItems];
  float highest = -infinity();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = k * 32 + lane;
    value[k] = i < p.extent ? load<X>(p.x, base + i * p.stride) : -infinity();
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) highest = value[k] > highest ? value[k] : highest;
  for (int mask = 16; mask > 0; mask /= 2) highest = fmaxf(highest, shuffleXor(highest, mask));
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    value[k] = k * 32 + lane < p.extent ? expf(value[k] - highest) : 0.f;
    sum += value[k];
  }
  for (int mask = 16; mask > 0; mask /= 2) sum += shuffleXor(sum, mask);
  const float scale = 1.f / sum;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = k * 32 + lane;
    if (i < p.extent) store<X>(p.y, base + i * p.stride, value[k] * scale);
  }
}
KERNEL(tenon_softmax_warp_4, SoftmaxParameters) { softmaxWarp<4>(p); }
KERNEL(tenon_softmax_warp_16, SoftmaxParameters) { softmaxWarp<16>(p); }
KERNEL(tenon_softmax_warp_32, SoftmaxParameters) { softmaxWarp<32>(p); }

// The same for lines in one piece, in packs of 16 bytes.
constexpr int kPack = 16 / sizeof(X);
template <int kPacks>
__device__ void softmaxPacks(const SoftmaxParameters& p) {
  const i64 line = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (line >= p.lines.count) return;
  const int lane = threadIdx.x % 32;
  const i64 base = lineOffset(p, line);
  const int packs = (int)(p.extent / kPack);
  const Pack<X, kPack>* x = (const Pack<X, kPack>*)((const X*)p.x + base);
  Pack<X, kPack> stored[kPacks];
  float value[kPacks][kPack];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (k * 32 + lane < packs) stored[k] = x[k * 32 + lane];
  }
  float highest = -infinity();
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      value[k][j] = k * 32 + lane < packs ? Element<X>::load(stored[k].e[j]) : -infinity();
      highest = value[k][j] > highest ? value[k][j] : highest;
    }
  }
  for (int mask = 16; mask > 0; mask /= 2) highest = fmaxf(highest, shuffleXor(highest, mask));
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      value[k][j] = k * 32 + lane < packs ? expf(value[k][j] - highest) : 0.f;
      sum += value[k][j];
    }
  }
  const float scale = 1.f / warpReduce(sum, Add());
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (k * 32 + lane >= packs) continue;
#pragma unroll
    for (int j = 0; j < kPack; ++j) stored[k].e[j] = Element<X>::store(value[k][j] * scale);
    ((Pack<X, kPack>*)((X*)p.y + base))[k * 32 + lane] = stored[k];
  }
}
KERNEL(tenon_softmax_packs_1, SoftmaxParameters) { softmaxPacks<1>(p); }
KERNEL(tenon_softmax_packs_2, SoftmaxParameters) { softmaxPacks<2>(p); }
KERNEL(tenon_softmax_packs_4, SoftmaxParameters) { softmaxPacks<4>(p); }

// Lines of up to 16 packs, several of them in a warp: kLanes threads, a power of two, for each.
template <int kLanes>
__device__ void softmaxShort(const SoftmaxParameters& p) {
  const i64 line = globalIndex() / kLanes;
  const int lane = threadIdx.x % kLanes;
  const bool has = line < p.lines.count && lane < (int)(p.extent / kPack);
  const i64 at = line < p.lines.count ? lineOffset(p, line) / kPack + lane : 0;
  Pack<X, kPack> stored;
  if (has) stored = ((const Pack<X, kPack>*)p.x)[at];
  float value[kPack];
  float highest = -infinity();
#pragma unroll
  for (int j = 0; j < kPack; ++j) {
    value[j] = has ? Element<X>::load(stored.e[j]) : -infinity();
    highest = value[j] > highest ? value[j] : highest;
  }
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) highest = fmaxf(highest, shuffleXor(highest, mask));
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kPack; ++j) {
    value[j] = has ? expf(value[j] - highest) : 0.f;
    sum += value[j];
  }
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) sum += shuffleXor(sum, mask);
  if (!has) return;
  const float scale = 1.f / sum;
#pragma unroll
  for (int j = 0; j < kPack; ++j) stored.e[j] = Element<X>::store(value[j] * scale);
  ((Pack<X, kPack>*)p.y)[at] = stored;
}
KERNEL(tenon_softmax_short_1, SoftmaxParameters) { softmaxShort<1>(p); }
KERNEL(tenon_softmax_short_2, SoftmaxParameters) { softmaxShort<2>(p); }
KERNEL(tenon_softmax_short_4, SoftmaxParameters) { softmaxShort<4>(p); }
KERNEL(tenon_softmax_short_8, SoftmaxParameters) { softmaxShort<8>(p); }
KERNEL(tenon_softmax_short_16, SoftmaxParameters) { softmaxShort<16>(p); }

struct Highest {  // a NaN shows in the sum
  __device__ float operator()(float a, float b) const { return b > a ? b : a; }
};

// A block per line in one piece, which stays in its registers.
KERNEL_BOUNDED(__launch_bounds__(1024), tenon_softmax_block_packs, SoftmaxParameters) {
  constexpr int kPacks = 4;
  __shared__ float shared[32];
  const i64 base = lineOffset(p, blockIdx.x);
  const int packs = (int)(p.extent / kPack);
  const Pack<X, kPack>* x = (const Pack<X, kPack>*)((const X*)p.x + base);
  Pack<X, kPack> stored[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int i = k * blockDim.x + threadIdx.x;
    if (i < packs) stored[k] = x[i];
  }
  float highest = -infinity();
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (k * blockDim.x + threadIdx.x >= packs) continue;
#pragma unroll
    for (int j = 0; j < kPack; ++j) highest = Highest()(highest, Element<X>::load(stored[k].e[j]));
  }
  highest = blockReduce(highest, Highest(), shared);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (k * blockDim.x + threadIdx.x >= packs) continue;
#pragma unroll
    for (int j = 0; j < kPack; ++j) sum += expf(Element<X>::load(stored[k].e[j]) - highest);
  }
  const float scale = 1.f / blockReduce(sum, Add(), shared);
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int i = k * blockDim.x + threadIdx.x;
    if (i >= packs) continue;
#pragma unroll
    for (int j = 0; j < kPack; ++j)
      stored[k].e[j] = Element<X>::store(expf(Element<X>::load(stored[k].e[j]) - highest) * scale);
    ((Pack<X, kPack>*)((X*)p.y + base))[i] = stored[k];
  }
}

// Highest value so far and the sum of exp(x - highest), which two halves of a line can be joined from.
struct State {
  float highest, sum;
};
__device__ State joinStates(State a, State b) {
  const State& more = b.highest > a.highest ? b : a;
  const State& less = b.highest > a.highest ? a : b;
  State result = more;
  if (less.sum != 0.f)
    result.sum +=
        less.highest == -infinity() && less.sum == less.sum ? 0.f : less.sum * expf(less.highest - more.highest);
  return result;
}
__device__ void take(State& state, float x) {
  if (x > state.highest) {
    state.sum = state.sum == 0.f ? 1.f : state.sum * expf(state.highest - x) + 1.f;
    state.highest = x;
  } else if (state.highest != -infinity() || x != x) {
    state.sum += expf(x - state.highest);
  }
}

__device__ inline State joinedOfBlock(State state) {
  __shared__ State shared[32];
  for (int mask = 16; mask > 0; mask /= 2) {
    State other;
    other.highest = shuffleXor(state.highest, mask);
    other.sum = shuffleXor(state.sum, mask);
    state = joinStates(state, other);
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = state;
  __syncthreads();
  state = shared[0];
  for (int k = 1; k < (int)blockDim.x / 32; ++k) state = joinStates(state, shared[k]);
  return state;
}

// A block per chunk of a line: the state of each, then, from all of the line's, the results.
struct Chunk {
  i64 line, first, base;
  float value[kSoftmaxItems];

  __device__ Chunk(const SoftmaxParameters& p) {
    line = blockIdx.x / p.chunks;
    first = blockIdx.x % p.chunks * (blockDim.x * kSoftmaxItems) + threadIdx.x;
    base = lineOffset(p, line);
#pragma unroll
    for (int k = 0; k < kSoftmaxItems; ++k) {
      const i64 i = first + k * blockDim.x;
      value[k] = i < p.extent ? load<X>(p.x, base + i * p.stride) : -infinity();
    }
  }
};
__device__ inline State stateOf(const Chunk& chunk) {
  float highest = -infinity();
#pragma unroll
  for (int k = 0; k < kSoftmaxItems; ++k) highest = chunk.value[k] > highest ? chunk.value[k] : highest;
  float sum = 0.f;
#pragma unroll
  for (int k = 0; k < kSoftmaxItems; ++k) {
    if (chunk.value[k] != -infinity()) sum += expf(chunk.value[k] - highest);  // also what is no number
  }
  return {highest, sum};
}
KERNEL(tenon_softmax_states, SoftmaxParameters) {
  const Chunk chunk(p);
  const State state = joinedOfBlock(stateOf(chunk));
  if (threadIdx.x == 0) ((State*)p.states)[blockIdx.x] = state;
}
KERNEL(tenon_softmax_chunks, SoftmaxParameters) {
  const Chunk chunk(p);
  State state = {-infinity(), 0.f};
  if (p.chunks == 1) state = stateOf(chunk);
  for (i64 k = threadIdx.x; p.chunks > 1 && k < p.chunks; k += blockDim.x)
    state = joinStates(state, ((const State*)p.states)[chunk.line * p.chunks + k]);
  state = joinedOfBlock(state);
  const float scale = 1.f / state.sum;
#pragma unroll
  for (int k = 0; k < kSoftmaxItems; ++k) {
    const i64 i = chunk.first + k * blockDim.x;
    if (i < p.extent) store<X>(p.y, chunk.base + i * p.stride, expf(chunk.value[k] - state.highest) * scale);
  }
}

// A thread per line: neighbouring lines lie close together, the axis does not.
KERNEL(tenon_softmax_columns, SoftmaxParameters) {
  const i64 line = globalIndex();
  if (line >= p.lines.count) return;
  const i64 base = lineOffset(p, line);
  State state = {-infinity(), 0.f};
  for (i64 i = 0; i < p.extent; ++i) take(state, load<X>(p.x, base + i * p.stride));
  const float scale = 1.f / state.sum;
  for (i64 i = 0; i < p.extent; ++i) {
    store<X>(p.y, base + i * p.stride, expf(load<X>(p.x, base + i * p.stride) - state.highest) * scale);
  }
}
