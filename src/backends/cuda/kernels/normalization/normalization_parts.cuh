// Few statistics of many members: blocks have a part of one each. First the moments of each part, then, from those of
// all its parts, the results. Behind the other kernels of normalization.cu, whose functions it uses.
#pragma once

struct Moments {
  float count, mean, squares;  // squares: of the distances from the mean
};
__device__ inline Moments joined(const Moments& a, const Moments& b) {
  const float count = a.count + b.count;
  if (count == 0.f) return a;
  const float share = b.count / count;
  const float d = b.mean - a.mean;
  return {count, a.mean + d * share, a.squares + b.squares + d * d * a.count * share};
}
__device__ inline Moments joinedOfBlock(Moments own) {
  __shared__ Moments shared[32];
  for (int mask = 16; mask > 0; mask /= 2)
    own = joined(own, {shuffleXor(own.count, mask), shuffleXor(own.mean, mask), shuffleXor(own.squares, mask)});
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
  __syncthreads();
  own = shared[0];
  for (int k = 1; k < (int)blockDim.x / 32; ++k) own = joined(own, shared[k]);
  return own;
}
// Members of a part: packs as planes have them, or one by one.
template <bool kPacked>
struct Part {
  static constexpr int kItems = kPacked ? kPack : 4;  // of a thread at a time
  const NormalizationParameters& p;
  i64 group, first, end;
  i64 base[3];

  __device__ explicit Part(const NormalizationParameters& parameters) : p(parameters) {
    group = blockIdx.x / p.parts;
    first = blockIdx.x % p.parts * p.partMembers;
    end = first + membersOf(blockIdx.x % p.parts);
    locate(p.groups, (unsigned)group, base);
  }
  __device__ i64 membersOf(i64 part) const { return min(p.partMembers, p.members - part * p.partMembers); }
  __device__ i64 place(i64 tile, int k) const {
    return kPacked ? tile + (i64)threadIdx.x * kPack + k : tile + k * (i64)blockDim.x + threadIdx.x;
  }
  __device__ void read(i64 tile, float (&value)[kItems]) const {
    if (kPacked && place(tile, 0) < end) {
      const i64 at = base[0] + place(tile, 0);
      XPack pack = *(const XPack*)((const X*)p.x + at);
      if (SKIP) pack = sumOf(pack, *(const XPack*)((const X*)p.skip + at));
#pragma unroll
      for (int k = 0; k < kItems; ++k) value[k] = Element<X>::load(pack.e[k]);
      return;
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const i64 i = place(tile, k);
      value[k] = !kPacked && i < end ? input(p, memberOf(p, base, i).x) : 0.f;
    }
  }
  __device__ void put(i64 tile, const float (&value)[kItems], float mean, float factor) const {
    if (kPacked) {
      const i64 i = place(tile, 0);
      if (i >= end) return;
      const unsigned run = p.inside.axes > 1 ? (unsigned)i / p.inside.divider[1] : 0;
      const float scale = load<S>(p.scale, base[1] + run * p.inside.stride[1][0]);
      const float bias = load<S>(p.bias, base[2] + run * p.inside.stride[2][0]);
      XPack result, sum;
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        sum.e[k % kPack] = Element<X>::store(value[k]);
        result.e[k % kPack] = Element<X>::store((value[k] - mean) * factor * scale + bias);
      }
      *(XPack*)((X*)p.y + base[0] + i) = result;
      if (KEEP_SUM) *(XPack*)((X*)p.sum + base[0] + i) = sum;
      return;
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const i64 i = place(tile, k);
      if (i < end) write(p, memberOf(p, base, i), value[k], mean, factor);
    }
  }
};
template <bool kPacked>
__device__ void findMoments(const NormalizationParameters& p) {
  typedef Part<kPacked> Own;
  const Own part(p);
  Moments own = {0, 0, 0};
  for (i64 tile = part.first; tile < part.end; tile += blockDim.x * Own::kItems) {
    float value[Own::kItems];
    part.read(tile, value);
    Moments some = {0, 0, 0};
#pragma unroll
    for (int k = 0; k < Own::kItems; ++k) {
      some.count += part.place(tile, k) < part.end ? 1.f : 0.f;
      some.mean += value[k];
    }
    some.mean = CENTERED && some.count > 0 ? some.mean / some.count : 0.f;
#pragma unroll
    for (int k = 0; k < Own::kItems; ++k) {
      const float d = value[k] - some.mean;
      if (part.place(tile, k) < part.end) some.squares += d * d;
    }
    own = joined(own, some);
  }
  own = joinedOfBlock(own);
  if (threadIdx.x == 0) {
    ((float*)p.moments)[2 * (i64)blockIdx.x] = own.mean;
    ((float*)p.moments)[2 * (i64)blockIdx.x + 1] = own.squares;
  }
}
template <bool kPacked>
__device__ void normalizePart(const NormalizationParameters& p) {
  typedef Part<kPacked> Own;
  const Own part(p);
  Moments all = {0, 0, 0};
  for (i64 k = threadIdx.x; k < p.parts; k += blockDim.x) {
    const float* of = (const float*)p.moments + 2 * (part.group * p.parts + k);
    all = joined(all, {(float)part.membersOf(k), of[0], of[1]});
  }
  all = joinedOfBlock(all);
  const float factor = 1.f / sqrtf(all.squares / p.members + p.epsilon);
  for (i64 tile = part.first; tile < part.end; tile += blockDim.x * Own::kItems) {
    float value[Own::kItems];
    part.read(tile, value);
    part.put(tile, value, all.mean, factor);
  }
}
KERNEL(tenon_normalize_parts, NormalizationParameters) { findMoments<false>(p); }
KERNEL(tenon_normalize_split, NormalizationParameters) { normalizePart<false>(p); }
KERNEL(tenon_normalize_planes_parts, NormalizationParameters) { findMoments<true>(p); }
KERNEL(tenon_normalize_planes_split, NormalizationParameters) { normalizePart<true>(p); }
