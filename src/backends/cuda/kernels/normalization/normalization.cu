// Layer, instance and group normalization with statistics in f32 by two passes. X, S: element types of x and of scale
// and bias. CENTERED: 1, or 0 where the mean counts as 0 (root mean square) and its pass is left out. SKIP: 1 where
// x + skip is normalized, rounded to X as a sum of its own would be; KEEP_SUM: 1 where that sum is written as well.
#include "backends/cuda/kernels/normalization/normalization_parameters.h"
#include "prelude.cuh"

struct Member {
  i64 x, scale, bias;
};
__device__ Member memberOf(const NormalizationParameters& p, const i64* base, i64 i) {
  i64 at[3] = {i * p.inside.stride[0][0], i * p.inside.stride[1][0], i * p.inside.stride[2][0]};
  if (p.inside.axes > 1) locate(p.inside, (unsigned)i, at);
  return {base[0] + at[0], base[1] + at[1], base[2] + at[2]};
}
// What is normalized, at an offset of x.
__device__ float input(const NormalizationParameters& p, i64 at) {
  const float x = load<X>(p.x, at);
  return SKIP ? Element<X>::load(Element<X>::store(x + load<X>(p.skip, at))) : x;
}
__device__ void write(const NormalizationParameters& p, const Member& m, float x, float mean, float factor) {
  if (KEEP_SUM) store<X>(p.sum, m.x, x);
  store<X>(p.y, m.x, (x - mean) * factor * load<S>(p.scale, m.scale) + load<S>(p.bias, m.bias));
}

// A block per statistic; up to kItems elements of a thread stay in registers, more are read again.
template <int kItems>
__device__ void normalizeBlock(const NormalizationParameters& p) {
  __shared__ float shared[32];
  i64 base[3];
  locate(p.groups, (unsigned)blockIdx.x, base);
  float value[kItems];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const i64 i = (i64)k * blockDim.x + threadIdx.x;
    value[k] = i < p.members ? input(p, memberOf(p, base, i).x) : 0.f;
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) sum += value[k];
  const i64 rest = (i64)kItems * blockDim.x + threadIdx.x;
  for (i64 i = rest; i < p.members; i += blockDim.x) sum += input(p, memberOf(p, base, i).x);
  const float mean = CENTERED ? blockReduce(sum, Add(), shared) / p.members : 0.f;
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const float d = value[k] - mean;
    if ((i64)k * blockDim.x + threadIdx.x < p.members) squares += d * d;
  }
  for (i64 i = rest; i < p.members; i += blockDim.x) {
    const float d = input(p, memberOf(p, base, i).x) - mean;
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
    write(p, m, input(p, m.x), mean, factor);
  }
}
KERNEL_BOUNDED(__launch_bounds__(1024), tenon_normalize_4, NormalizationParameters) { normalizeBlock<4>(p); }
KERNEL_BOUNDED(__launch_bounds__(1024), tenon_normalize_16, NormalizationParameters) { normalizeBlock<16>(p); }

// A warp per statistic of few members.
KERNEL(tenon_normalize_warp, NormalizationParameters) {
  const i64 group = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  if (group >= p.groups.count) return;
  const int lane = threadIdx.x % 32;
  i64 base[3];
  locate(p.groups, (unsigned)group, base);
  float sum = 0;
  for (i64 i = lane; i < p.members; i += 32) sum += input(p, memberOf(p, base, i).x);
  const float mean = CENTERED ? warpReduce(sum, Add()) / p.members : 0.f;
  float squares = 0;
  for (i64 i = lane; i < p.members; i += 32) {
    const float d = input(p, memberOf(p, base, i).x) - mean;
    squares += d * d;
  }
  for (int mask = 16; mask > 0; mask /= 2) squares += shuffleXor(squares, mask);
  const float factor = 1.f / sqrtf(squares / p.members + p.epsilon);
  for (i64 i = lane; i < p.members; i += 32) {
    const Member m = memberOf(p, base, i);
    write(p, m, input(p, m.x), mean, factor);
  }
}

// Rows that lie in one piece, as do scale and bias: packs of 16 bytes stay in registers.
constexpr int kPack = 16 / sizeof(X);
typedef Pack<X, kPack> XPack;
typedef Pack<S, kPack> SPack;

__device__ XPack sumOf(const XPack& a, const XPack& b) {
  XPack sum;
#pragma unroll
  for (int j = 0; j < kPack; ++j) sum.e[j] = Element<X>::store(Element<X>::load(a.e[j]) + Element<X>::load(b.e[j]));
  return sum;
}

// The mean of a row of which each thread has a pack (those behind the last one none, and a sum of 0), and the sum of
// the squares of distances from it: each warp's own about its own mean, which all threads join. They meet once.
__device__ void meetOnce(const XPack& pack, float sum, int packs, float* shared, float& mean, float& squares) {
  const int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32;
  const auto membersOf = [&](int i) { return (float)(kPack * min(packs - i * 32, 32)); };
  const float own = warpReduce(sum, Add()) / membersOf(warp);
  float spread = 0;
#pragma unroll
  for (int j = 0; j < kPack; ++j) {
    const float d = Element<X>::load(pack.e[j]) - own;
    if ((int)threadIdx.x < packs) spread += d * d;
  }
  spread = warpReduce(spread, Add());
  if (threadIdx.x % 32 == 0) {
    shared[2 * warp] = own;
    shared[2 * warp + 1] = spread;
  }
  __syncthreads();
  float all = 0;
  for (int i = 0; i < warps; ++i) all += shared[2 * i] * membersOf(i);
  mean = all / (float)(packs * kPack);
  squares = 0;
  for (int i = 0; i < warps; ++i) {
    const float d = shared[2 * i] - mean;
    squares += shared[2 * i + 1] + membersOf(i) * d * d;
  }
}

// kEarly: scales and biases are on their way while the statistics are computed, at the price of registers. kOnce: a
// block, each thread with one pack.
template <int kPacks, bool kEarly, bool kOnce = false>
__device__ void normalizePacks(const NormalizationParameters& p, i64 group, int thread, int threads, float* shared) {
  i64 base[3];
  locate(p.groups, (unsigned)group, base);
  const int packs = (int)(p.members / kPack);
  const XPack* x = (const XPack*)((const X*)p.x + base[0]);
  const SPack* scale = (const SPack*)((const S*)p.scale + base[1]);
  const SPack* bias = (const SPack*)((const S*)p.bias + base[2]);
  XPack values[kPacks], others[kPacks];
  SPack scales[kPacks], biases[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int i = k * threads + thread;
    if (i >= packs) continue;
    values[k] = x[i];
    if (SKIP) others[k] = ((const XPack*)((const X*)p.skip + base[0]))[i];
  }
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int i = k * threads + thread;
    if (!kEarly || i >= packs) continue;
    scales[k] = scale[i];
    biases[k] = bias[i];
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int i = k * threads + thread;
    if (i >= packs) continue;
    if (SKIP) values[k] = sumOf(values[k], others[k]);
    if (KEEP_SUM) ((XPack*)((X*)p.sum + base[0]))[i] = values[k];
#pragma unroll
    for (int j = 0; j < kPack; ++j) sum += Element<X>::load(values[k].e[j]);
  }
  float mean = 0, squares = 0;
  if (kOnce && CENTERED) {
    meetOnce(values[0], sum, packs, shared, mean, squares);
  } else {
    if (CENTERED) sum = threads == 32 ? warpReduce(sum, Add()) : blockReduce(sum, Add(), shared);
    if (CENTERED) mean = sum / p.members;
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
  }
  const float factor = 1.f / sqrtf(squares / p.members + p.epsilon);
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int i = k * threads + thread;
    if (i >= packs) continue;
    if (!kEarly) {
      scales[k] = scale[i];
      biases[k] = bias[i];
    }
    XPack result;
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      const float normal = (Element<X>::load(values[k].e[j]) - mean) * factor;
      result.e[j] = Element<X>::store(normal * Element<S>::load(scales[k].e[j]) + Element<S>::load(biases[k].e[j]));
    }
    ((XPack*)((X*)p.y + base[0]))[i] = result;
  }
}
template <int kPacks, bool kEarly>
__device__ void normalizeRowsByWarps(const NormalizationParameters& p) {
  const i64 group = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (group < p.groups.count) normalizePacks<kPacks, kEarly>(p, group, threadIdx.x % 32, 32, nullptr);
}
KERNEL(tenon_normalize_rows_warp_1, NormalizationParameters) { normalizeRowsByWarps<1, true>(p); }
KERNEL(tenon_normalize_rows_warp_4, NormalizationParameters) { normalizeRowsByWarps<4, false>(p); }
KERNEL(tenon_normalize_few_rows_warp_4, NormalizationParameters) { normalizeRowsByWarps<4, true>(p); }

// Many rows of at most kLanes packs, which share scale and bias: kLanes lanes take kRows rows, whose packs are all on
// their way at once.
template <int kLanes, int kRows>
__device__ void normalizeManyRows(const NormalizationParameters& p) {
  const int lane = (int)threadIdx.x % kLanes;
  const int rowsAtOnce = (int)blockDim.x / kLanes;
  const i64 first = (i64)blockIdx.x * rowsAtOnce * kRows + threadIdx.x / kLanes;
  const bool works = lane < (int)(p.members / kPack);
  XPack values[kRows], others[kRows];
  i64 at[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const i64 row = first + (i64)r * rowsAtOnce;
    i64 base[3];
    locate(p.groups, (unsigned)row, base);
    at[r] = works && row < p.groups.count ? base[0] + lane * kPack : -1;
    values[r] = others[r] = XPack{};
    if (at[r] < 0) continue;
    values[r] = *(const XPack*)((const X*)p.x + at[r]);
    if (SKIP) others[r] = *(const XPack*)((const X*)p.skip + at[r]);
  }
  SPack scale{}, bias{};
  if (works) {
    scale = ((const SPack*)p.scale)[lane];
    bias = ((const SPack*)p.bias)[lane];
  }
  const auto joined = [](float value) {
#pragma unroll
    for (int mask = kLanes / 2; mask > 0; mask /= 2) value += shuffleXor(value, mask);
    return value;
  };
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (SKIP) values[r] = sumOf(values[r], others[r]);
    float sum = 0;
    float squares = 0;
#pragma unroll
    for (int j = 0; j < kPack; ++j) sum += Element<X>::load(values[r].e[j]);
    const float mean = CENTERED ? joined(sum) / p.members : 0.f;
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      const float d = Element<X>::load(values[r].e[j]) - mean;
      if (works) squares += d * d;
    }
    const float factor = 1.f / sqrtf(joined(squares) / p.members + p.epsilon);
    if (at[r] < 0) continue;
    if (KEEP_SUM) *(XPack*)((X*)p.sum + at[r]) = values[r];
    XPack result;
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      const float normal = (Element<X>::load(values[r].e[j]) - mean) * factor;
      result.e[j] = Element<X>::store(normal * Element<S>::load(scale.e[j]) + Element<S>::load(bias.e[j]));
    }
    *(XPack*)((X*)p.y + at[r]) = result;
  }
}
KERNEL(tenon_normalize_many_rows_8, NormalizationParameters) { normalizeManyRows<8, 4>(p); }
KERNEL(tenon_normalize_many_rows_16, NormalizationParameters) { normalizeManyRows<16, 4>(p); }
KERNEL(tenon_normalize_many_rows_32, NormalizationParameters) { normalizeManyRows<32, 4>(p); }

KERNEL_BOUNDED(__launch_bounds__(1024), tenon_normalize_rows_block, NormalizationParameters) {
  __shared__ float shared[32];
  normalizePacks<4, false>(p, blockIdx.x, threadIdx.x, blockDim.x, shared);
}
// Few rows, which all run at once: one pack for each thread, so that the code is short.
KERNEL(tenon_normalize_few_rows_block, NormalizationParameters) {
  __shared__ float shared[32];
  normalizePacks<1, true, true>(p, blockIdx.x, threadIdx.x, blockDim.x, shared);
}

// Members that lie in one piece, scale and bias of one value for each run of them: groups of planes. The first packs of
// a thread stay in registers, the others are read again. inside: runs and elements of a run, or elements alone.
constexpr int kKept = 4;
struct Planes {
  const NormalizationParameters& p;
  const i64* base;
  const XPack* x;
  XPack* y;
  int packs;
  float sum, mean, factor;

  __device__ XPack read(int i) const {
    return SKIP ? sumOf(x[i], ((const XPack*)((const X*)p.skip + base[0]))[i]) : x[i];
  }
  // kPhase 0 adds up, 1 adds up the squares of the distances to the mean, 2 writes.
  template <int kPhase>
  __device__ void visit(int i, const XPack& pack) {
    if (kPhase < 2) {
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        const float value = Element<X>::load(pack.e[j]);
        sum += kPhase == 0 ? value : (value - mean) * (value - mean);
      }
      return;
    }
    const unsigned run = p.inside.axes > 1 ? (unsigned)i * kPack / p.inside.divider[1] : 0;
    const float scale = load<S>(p.scale, base[1] + run * p.inside.stride[1][0]);
    const float bias = load<S>(p.bias, base[2] + run * p.inside.stride[2][0]);
    XPack result;
#pragma unroll
    for (int j = 0; j < kPack; ++j)
      result.e[j] = Element<X>::store((Element<X>::load(pack.e[j]) - mean) * factor * scale + bias);
    y[i] = result;
    if (KEEP_SUM) ((XPack*)((X*)p.sum + base[0]))[i] = pack;
  }
  template <int kPhase>
  __device__ void visitAll(const XPack* kept) {
    const int step = blockDim.x;
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const int i = k * step + threadIdx.x;
      if (i < packs) visit<kPhase>(i, kept[k]);
    }
#pragma unroll 4
    for (int i = kKept * step + threadIdx.x; i < packs; i += step) {
      const XPack pack = read(i);
      visit<kPhase>(i, pack);
    }
  }
};

KERNEL_BOUNDED(__launch_bounds__(1024), tenon_normalize_planes, NormalizationParameters) {
  __shared__ float shared[32];
  i64 base[3];
  locate(p.groups, (unsigned)blockIdx.x, base);
  Planes planes = {
      p, base, (const XPack*)((const X*)p.x + base[0]), (XPack*)((X*)p.y + base[0]), (int)(p.members / kPack), 0, 0, 0};
  XPack kept[kKept];
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const int i = k * blockDim.x + threadIdx.x;
    if (i < planes.packs) kept[k] = planes.read(i);
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

#include "normalization_parts.cuh"
