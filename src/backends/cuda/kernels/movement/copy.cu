// Copies between strided views, elements of 1 to 16 bytes: one after another in the order of the target, or in tiles
// through shared memory where source and target walk different axes.
#include "backends/cuda/kernels/movement/movement_parameters.h"
#include "prelude.cuh"

template <typename T>
__device__ void copyElements(const CopyParameters& p) {
  const i64 first = (i64)blockIdx.x * blockDim.x * kCopiesOfThread + threadIdx.x;
  T value[kCopiesOfThread];
  i64 to[kCopiesOfThread];
#pragma unroll
  for (int k = 0; k < kCopiesOfThread; ++k) {
    const i64 index = first + (i64)k * blockDim.x;
    i64 at[2] = {0, 0};
    if (index < p.space.count) locate(p.space, (unsigned)index, at);
    to[k] = at[0];
    if (index < p.space.count) value[k] = ((const T*)p.from)[at[1]];
  }
#pragma unroll
  for (int k = 0; k < kCopiesOfThread; ++k) {
    if (first + (i64)k * blockDim.x < p.space.count) ((T*)p.to)[to[k]] = value[k];
  }
}

// For spaces of 2^31 elements and more.
template <typename T>
__device__ void copyWide(const CopyParameters& p) {
#pragma unroll 1
  for (int k = 0; k < kCopiesOfThread; ++k) {
    const i64 index = (i64)blockIdx.x * blockDim.x * kCopiesOfThread + k * blockDim.x + threadIdx.x;
    if (index >= p.space.count) return;
    i64 at[2];
    locate(p.space, index, at);
    ((T*)p.to)[at[0]] = ((const T*)p.from)[at[1]];
  }
}

// 256 threads move a square tile: 32 neighbours along an axis at a time.
template <typename T, int kTile>
__device__ void copyTile(const TileParameters& p) {
  __shared__ T tile[kTile][kTile + (sizeof(T) < 4 ? 4 / sizeof(T) : 1)];
  const unsigned rest = blockIdx.x / p.tilesA;
  const unsigned outer = rest / p.tilesB;
  const i64 a0 = (i64)(blockIdx.x - rest * p.tilesA.divisor) * kTile;
  const i64 b0 = (i64)(rest - outer * p.tilesB.divisor) * kTile;
  i64 at[2];
  locate(p.space, outer, at);
  const T* from = (const T*)p.from + at[1];
  T* to = (T*)p.to + at[0];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int row = 0; row < kTile; row += 8) {
#pragma unroll
    for (int column = 0; column < kTile; column += 32) {
      const i64 a = a0 + row + warp;
      const i64 b = b0 + column + lane;
      if (a < p.a && b < p.b) tile[row + warp][column + lane] = from[a * p.fromA + b];
    }
  }
  __syncthreads();
#pragma unroll
  for (int row = 0; row < kTile; row += 8) {
#pragma unroll
    for (int column = 0; column < kTile; column += 32) {
      const i64 b = b0 + row + warp;
      const i64 a = a0 + column + lane;
      if (a < p.a && b < p.b) to[b * p.toB + a] = tile[column + lane][row + warp];
    }
  }
}

// Elements of two bytes in a tile of 64 by 64, read and written in packs of eight: extents, strides and addresses are
// whole packs. A thread turns two columns of words round in registers.
KERNEL(tenon_tile_2_packed, TileParameters) {
  constexpr int kTile = 64;
  constexpr int kPitch = kTile / 2 + 1;  // words of a row; odd, so that rows begin in different banks
  __shared__ unsigned tile[kTile * kPitch];
  const unsigned rest = blockIdx.x / p.tilesA;
  const unsigned outer = rest / p.tilesB;
  const i64 a0 = (i64)(blockIdx.x - rest * p.tilesA.divisor) * kTile;
  const i64 b0 = (i64)(rest - outer * p.tilesB.divisor) * kTile;
  i64 at[2];
  locate(p.space, outer, at);
  const unsigned short* from = (const unsigned short*)p.from + at[1];
  unsigned short* to = (unsigned short*)p.to + at[0];
  Pack<unsigned, 4> words[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const i64 a = a0 + threadIdx.x / 8 + k * 32;
    const i64 b = b0 + threadIdx.x % 8 * 8;
    if (a < p.a && b < p.b) words[k] = *(const Pack<unsigned, 4>*)(from + a * p.fromA + b);
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int j = 0; j < 4; ++j) tile[(threadIdx.x / 8 + k * 32) * kPitch + threadIdx.x % 8 * 4 + j] = words[k].e[j];
  }
  __syncthreads();
  const i64 a = a0 + threadIdx.x % 8 * 8;
  const i64 b = b0 + threadIdx.x / 8 * 2;
  if (a >= p.a || b >= p.b) return;
  unsigned column[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) column[j] = tile[(threadIdx.x % 8 * 8 + j) * kPitch + threadIdx.x / 8];
  Pack<unsigned, 4> low, high;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    low.e[j] = (column[2 * j] & 0xffffu) | column[2 * j + 1] << 16;
    high.e[j] = column[2 * j] >> 16 | (column[2 * j + 1] & 0xffff0000u);
  }
  *(Pack<unsigned, 4>*)(to + b * p.toB + a) = low;
  *(Pack<unsigned, 4>*)(to + (b + 1) * p.toB + a) = high;
}

// A few planes to neighbouring elements, as images become channels-last: a thread takes a pack of each plane. a: packs
// in all; tilesB: packs of a plane's line.
template <typename T, int kPlanes>
__device__ void interleave(const TileParameters& p) {
  constexpr int kPack = 16 / sizeof(T);
  const i64 index = globalIndex();
  if (index >= p.a) return;
  const unsigned outer = (unsigned)index / p.tilesB;
  const i64 b = (i64)((unsigned)index - outer * p.tilesB.divisor) * kPack;
  i64 at[2];
  locate(p.space, outer, at);
  const T* from = (const T*)p.from + at[1] + b;
  Pack<T, kPack> plane[kPlanes];
#pragma unroll
  for (int k = 0; k < kPlanes; ++k) plane[k] = *(const Pack<T, kPack>*)(from + k * p.fromA);
  Pack<T, kPack>* to = (Pack<T, kPack>*)((T*)p.to + at[0] + b * kPlanes);
#pragma unroll
  for (int k = 0; k < kPlanes; ++k) {
    Pack<T, kPack> result;
#pragma unroll
    for (int j = 0; j < kPack; ++j) result.e[j] = plane[(k * kPack + j) % kPlanes].e[(k * kPack + j) / kPlanes];
    to[k] = result;
  }
}
KERNEL(tenon_interleave_2_2, TileParameters) { interleave<unsigned short, 2>(p); }
KERNEL(tenon_interleave_2_3, TileParameters) { interleave<unsigned short, 3>(p); }
KERNEL(tenon_interleave_2_4, TileParameters) { interleave<unsigned short, 4>(p); }
KERNEL(tenon_interleave_4_2, TileParameters) { interleave<unsigned, 2>(p); }
KERNEL(tenon_interleave_4_3, TileParameters) { interleave<unsigned, 3>(p); }
KERNEL(tenon_interleave_4_4, TileParameters) { interleave<unsigned, 4>(p); }

#define COPY(bytes, T)                                               \
  KERNEL(tenon_copy_##bytes, CopyParameters) { copyElements<T>(p); } \
  KERNEL(tenon_copy_##bytes##_wide, CopyParameters) { copyWide<T>(p); }
#define TILE(bytes, T, size) \
  KERNEL(tenon_tile_##bytes, TileParameters) { copyTile<T, size>(p); }
COPY(1, unsigned char)
COPY(2, unsigned short)
COPY(4, unsigned)
COPY(8, uint2)
COPY(16, uint4)
TILE(1, unsigned char, 64)
TILE(2, unsigned short, 64)
TILE(4, unsigned, 32)
TILE(8, uint2, 32)

template <typename X>
__device__ void widenRows(const WidenParameters& p) {
  const i64 first = (i64)blockIdx.x * blockDim.x * kWidenedOfThread + threadIdx.x;
  for (i64 row = blockIdx.y; row < p.rows; row += gridDim.y) {
    const X* from = (const X*)p.from + row * p.columns;
    f32* to = p.to + row * p.toPitch;
    f32 value[kWidenedOfThread];
#pragma unroll
    for (int k = 0; k < kWidenedOfThread; ++k) {
      const i64 column = first + (i64)k * blockDim.x;
      if (column < p.columns) value[k] = Element<X>::load(from[column]);
    }
#pragma unroll
    for (int k = 0; k < kWidenedOfThread; ++k) {
      const i64 column = first + (i64)k * blockDim.x;
      if (column < p.columns) to[column] = value[k];
    }
  }
}
KERNEL(tenon_widen_f16, WidenParameters) { widenRows<f16>(p); }
KERNEL(tenon_widen_bf16, WidenParameters) { widenRows<bf16>(p); }

template <typename T>
__device__ void fillElements(const ValueParameters& p) {
  const i64 index = globalIndex();
  if (index >= p.count) return;
  T value = {};
  if (p.value != nullptr) value = *(const T*)p.value;
  ((T*)p.to)[index] = value;
}
KERNEL(tenon_fill_1, ValueParameters) { fillElements<unsigned char>(p); }
KERNEL(tenon_fill_2, ValueParameters) { fillElements<unsigned short>(p); }
KERNEL(tenon_fill_4, ValueParameters) { fillElements<unsigned>(p); }
KERNEL(tenon_fill_8, ValueParameters) { fillElements<uint2>(p); }
