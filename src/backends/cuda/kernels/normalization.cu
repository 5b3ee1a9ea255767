// Layer, instance and group normalization with statistics in f32 by two passes. X, S: element types of x and of scale and
// bias. CENTERED: 1, or 0 where the mean counts as 0 (root mean square) and its pass is left out.
#include "prelude.cuh"

struct Parameters {
  const void* x;
  const void* scale;
  const void* bias;
  void* y;
  float epsilon;
  i64 members;       // of one statistic
  Space<3> groups;   // one element per statistic: x, scale, bias
  Space<3> inside;   // its members
};

struct Member {
  i64 x, scale, bias;
};
__device__ Member memberOf(const Parameters& p, const i64* base, i64 i) {
  i64 at[3] = {i * p.inside.stride[0][0], i * p.inside.stride[1][0], i * p.inside.stride[2][0]};
  if (p.inside.axes > 1) p.inside.locate((unsigned)i, at);
  return {base[0] + at[0], base[1] + at[1], base[2] + at[2]};
}
__device__ void write(const Parameters& p, const Member& m, float x, float mean, float factor) {
  store<X>(p.y, m.x, (x - mean) * factor * load<S>(p.scale, m.scale) + load<S>(p.bias, m.bias));
}

// A block per statistic; up to kItems elements of a thread stay in registers, more are read again.
template <int kItems>
__device__ void normalizeBlock(const Parameters& p) {
  __shared__ float shared[32];
  i64 base[3];
  p.groups.locate((unsigned)blockIdx.x, base);
  float value[kItems];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const i64 i = (i64)k * blockDim.x + threadIdx.x;
    value[k] = i < p.members ? load<X>(p.x, memberOf(p, base, i).x) : 0.f;
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) sum += value[k];
  const i64 rest = (i64)kItems * blockDim.x + threadIdx.x;
  for (i64 i = rest; i < p.members; i += blockDim.x) sum += load<X>(p.x, memberOf(p, base, i).x);
  const float mean = CENTERED ? blockReduce(sum, Add(), shared) / p.members : 0.f;
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const float d = value[k] - mean;
    if ((i64)k * blockDim.x + threadIdx.x < p.members) squares += d * d;
  }
  for (i64 i = rest; i < p.members; i += blockDim.x) {
    const float d = load<X>(p.x, memberOf(p, base, i).x) - mean;
    squares += d * d;
  }
  const float factor = 1.f / sqrtf(blockReduce(squares, Add(), shared) / p.members + p.epsilon);
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const i64 i = (i64)k * blockDim.x + threadIdx.x;
    if (i < p.members) write(p, memberOf(p, base, i), value[k], mean, factor);
  }
  for (i64 i = rest; i < p.members; i += blockDim.x) {
    const Member m = memberOf(p, base, i);
    write(p, m, load<X>(p.x, m.x), mean, factor);
  }
}
KERNEL_1024(tenon_normalize_4, Parameters) { normalizeBlock<4>(p); }
KERNEL_1024(tenon_normalize_16, Parameters) { normalizeBlock<16>(p); }

// A warp per statistic of few members.
KERNEL(tenon_normalize_warp, Parameters) {
  const i64 group = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  if (group >= p.groups.count) return;
  const int lane = threadIdx.x % 32;
  i64 base[3];
  p.groups.locate((unsigned)group, base);
  float sum = 0;
  for (i64 i = lane; i < p.members; i += 32) sum += load<X>(p.x, memberOf(p, base, i).x);
  const float mean = CENTERED ? warpReduce(sum, Add()) / p.members : 0.f;
  float squares = 0;
  for (i64 i = lane; i < p.members; i += 32) {
    const float d = load<X>(p.x, memberOf(p, base, i).x) - mean;
    squares += d * d;
  }
  for (int mask = 16; mask > 0; mask /= 2) squares += shuffleXor(squares, mask);
  const float factor = 1.f / sqrtf(squares / p.members + p.epsilon);
  for (i64 i = lane; i < p.members; i += 32) {
    const Member m = memberOf(p, base, i);
    write(p, m, load<X>(p.x, m.x), mean, factor);
  }
}

// Rows that lie in one piece, as do scale and bias: packs of 16 bytes stay in registers.
constexpr int kPack = 16 / sizeof(X);

template <int kPacks>
__device__ void normalizePacks(const Parameters& p, i64 group, int thread, int threads, float* shared) {
  i64 base[3];
  p.groups.locate((unsigned)group, base);
  const int packs = (int)(p.members / kPack);
  const X* x = (const X*)p.x + base[0];
  Pack<X, kPack> values[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int i = k * threads + thread;
    if (i < packs) values[k] = ((const Pack<X, kPack>*)x)[i];
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (k * threads + thread >= packs) continue;
#pragma unroll
    for (int j = 0; j < kPack; ++j) sum += Element<X>::load(values[k].e[j]);
  }
  if (CENTERED) sum = threads == 32 ? warpReduce(sum, Add()) : blockReduce(sum, Add(), shared);
  const float mean = CENTERED ? sum / p.members : 0.f;
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (k * threads + thread >= packs) continue;
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      const float d = Element<X>::load(values[k].e[j]) - mean;
      squares += d * d;
    }
  }
  squares = threads == 32 ? warpReduce(squares, Add()) : blockReduce(squares, Add(), shared);
  const float factor = 1.f / sqrtf(squares / p.members + p.epsilon);
  const S* scale = (const S*)p.scale + base[1];
  const S* bias = (const S*)p.bias + base[2];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int i = k * threads + thread;
    if (i >= packs) continue;
    const Pack<S, kPack> scales = ((const Pack<S, kPack>*)scale)[i];
    const Pack<S, kPack> biases = ((const Pack<S, kPack>*)bias)[i];
    Pack<X, kPack> result;
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      const float normal = (Element<X>::load(values[k].e[j]) - mean) * factor;
      result.e[j] = Element<X>::store(normal * Element<S>::load(scales.e[j]) + Element<S>::load(biases.e[j]));
    }
    ((Pack<X, kPack>*)((X*)p.y + base[0]))[i] = result;
  }
}
template <int kPacks>
__device__ void normalizeRowsByWarps(const Parameters& p) {
  const i64 group = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (group < p.groups.count) normalizePacks<kPacks>(p, group, threadIdx.x % 32, 32, nullptr);
}
KERNEL(tenon_normalize_rows_warp_1, Parameters) { normalizeRowsByWarps<1>(p); }
KERNEL(tenon_normalize_rows_warp_4, Parameters) { normalizeRowsByWarps<4>(p); }
KERNEL_1024(tenon_normalize_rows_block, Parameters) {
  __shared__ float shared[32];
  normalizePacks<4>(p, blockIdx.x, threadIdx.x, blockDim.x, shared);
}

// Members that lie in one piece, scale and bias of one value for each run of them: groups of planes. The first packs of a
// thread stay in registers, the others are read again. inside: runs and elements of a run, or elements alone.
constexpr int kKept = 4;
struct Planes {
  const Parameters& p;
  const i64* base;
  const Pack<X, kPack>* x;
  Pack<X, kPack>* y;
  int packs;
  float sum, mean, factor;

  // kPhase 0 adds up, 1 adds up the squares of the distances to the mean, 2 writes.
  template <int kPhase>
  __device__ void visit(int i, const Pack<X, kPack>& pack) {
    if (kPhase < 2) {
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        const float value = Element<X>::load(pack.e[j]);
        sum += kPhase == 0 ? value : (value - mean) * (value - mean);
      }
      return;
    }
    const unsigned run = p.inside.axes > 1 ? p.inside.divider[1].quotient((unsigned)i * kPack) : 0;
    const float scale = load<S>(p.scale, base[1] + run * p.inside.stride[1][0]);
    const float bias = load<S>(p.bias, base[2] + run * p.inside.stride[2][0]);
    Pack<X, kPack> result;
#pragma unroll
    for (int j = 0; j < kPack; ++j) result.e[j] = Element<X>::store((Element<X>::load(pack.e[j]) - mean) * factor * scale + bias);
    y[i] = result;
  }
  template <int kPhase>
  __device__ void visitAll(const Pack<X, kPack>* kept) {
    const int step = blockDim.x;
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const int i = k * step + threadIdx.x;
      if (i < packs) visit<kPhase>(i, kept[k]);
    }
#pragma unroll 4
    for (int i = kKept * step + threadIdx.x; i < packs; i += step) {
      const Pack<X, kPack> pack = x[i];
      visit<kPhase>(i, pack);
    }
  }
};

KERNEL_1024(tenon_normalize_planes, Parameters) {
  __shared__ float shared[32];
  i64 base[3];
  p.groups.locate((unsigned)blockIdx.x, base);
  Planes planes = {p, base, (const Pack<X, kPack>*)((const X*)p.x + base[0]), (Pack<X, kPack>*)((X*)p.y + base[0]), (int)(p.members / kPack), 0, 0, 0};
  Pack<X, kPack> kept[kKept];
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const int i = k * blockDim.x + threadIdx.x;
    if (i < planes.packs) kept[k] = planes.x[i];
  }
  if (CENTERED) {
    planes.visitAll<0>(kept);
    planes.mean = blockReduce(planes.sum, Add(), shared) / p.members;
    planes.sum = 0;
  }
  planes.visitAll<1>(kept);
  planes.factor = 1.f / sqrtf(blockReduce(planes.sum, Add(), shared) / p.members + p.epsilon);
  planes.visitAll<2>(kept);
}
