// Sorts keys, all of which differ, ascending: bitonic, tiles in shared memory, larger distances in registers. How many
// keys there are may be known on the device only; what is behind them is not looked at.
#pragma once

#include "backends/cuda/kernels/common/key_sort_parameters.h"
#include "prelude.cuh"

typedef uint64_t Key;
constexpr Key kNoKey = ~0ull;  // behind all others

// The power of two up to which keys are compared.
__device__ inline i64 sortWidth(i64 count, i64 tile) {
  i64 width = tile;
  while (width < count) width *= 2;
  return width;
}
__device__ inline i64 countOfItem(const KeySortParameters& p, i64 item) {
  const i64 count = p.counts != nullptr ? (i64)p.counts[item] : p.count;
  return count < p.capacity ? count : p.capacity;
}
__device__ inline void orderKeys(Key& a, Key& b, bool up) {
  if ((a > b) == up) {
    const Key other = a;
    a = b;
    b = other;
  }
}

// Distances from `distance` down to 1 within the tile that begins at `first`; all threads of the block.
__device__ inline void mergeTile(Key* tile, i64 first, int keys, i64 size, int distance) {
  for (; distance > 0; distance /= 2) {
    __syncthreads();
    for (int t = threadIdx.x; t < keys / 2; t += blockDim.x) {
      const int k = 2 * (t & ~(distance - 1)) + (t & (distance - 1));
      orderKeys(tile[k], tile[k + distance], ((first + k) & size) == 0);
    }
  }
}

// Each tile by itself, up and down in turn.
KERNEL_BOUNDED(__launch_bounds__(1024), tenon_sort_tiles, KeySortParameters) {
  __shared__ Key tile[kSortTile];
  const i64 item = blockIdx.x / p.blocks;
  const i64 first = blockIdx.x % p.blocks * p.tile;
  const i64 count = countOfItem(p, item);
  if (first >= sortWidth(count, p.tile)) return;
  Key* const keys = p.keys + item * p.capacity + first;
  for (int k = threadIdx.x; k < p.tile; k += blockDim.x) tile[k] = first + k < count ? keys[k] : kNoKey;
  const int there = count < p.tile ? (int)sortWidth(count, 2) : (int)p.tile;  // of a list of one tile
  for (int size = 2; size <= there; size *= 2) mergeTile(tile, first, there, size, size / 2);
  __syncthreads();
  for (int k = threadIdx.x; k < p.tile; k += blockDim.x) keys[k] = tile[k];
}

// The distances of a tile and less, of runs of p.size.
KERNEL_BOUNDED(__launch_bounds__(1024), tenon_sort_merge, KeySortParameters) {
  __shared__ Key tile[kSortTile];
  const i64 item = blockIdx.x / p.blocks;
  const i64 first = blockIdx.x % p.blocks * p.tile;
  const i64 width = sortWidth(countOfItem(p, item), p.tile);
  if (p.size > width || first >= width) return;
  Key* const keys = p.keys + item * p.capacity + first;
  for (int k = threadIdx.x; k < p.tile; k += blockDim.x) tile[k] = keys[k];
  mergeTile(tile, first, (int)p.tile, p.size, (int)p.tile / 2);
  __syncthreads();
  for (int k = threadIdx.x; k < p.tile; k += blockDim.x) keys[k] = tile[k];
}

// p.distance and the next ones: a thread has all keys that are exchanged with each other.
template <int kSteps>
__device__ inline void sortSteps(const KeySortParameters& p, Key* keys, i64 thread) {
  constexpr int kKeys = 1 << kSteps;
  const i64 nearest = p.distance >> (kSteps - 1);
  const i64 first = thread / nearest * nearest * kKeys + thread % nearest;
  Key own[kKeys];
#pragma unroll
  for (int k = 0; k < kKeys; ++k) own[k] = keys[first + k * nearest];
  const bool up = (first & p.size) == 0;
#pragma unroll
  for (int apart = kKeys / 2; apart > 0; apart /= 2) {
#pragma unroll
    for (int k = 0; k < kKeys; ++k) {
      if ((k & apart) == 0) orderKeys(own[k], own[k + apart], up);
    }
  }
#pragma unroll
  for (int k = 0; k < kKeys; ++k) keys[first + k * nearest] = own[k];
}

KERNEL(tenon_sort_steps, KeySortParameters) {
  const i64 item = blockIdx.x / p.blocks;
  const i64 thread = blockIdx.x % p.blocks * blockDim.x + threadIdx.x;
  const i64 width = sortWidth(countOfItem(p, item), p.tile);
  if (p.size > width || thread << p.steps >= width) return;
  Key* const keys = p.keys + item * p.capacity;
  if (p.steps == 1) sortSteps<1>(p, keys, thread);
  if (p.steps == 2) sortSteps<2>(p, keys, thread);
  if (p.steps == 3) sortSteps<3>(p, keys, thread);
}
