// Products with experts of few rows: each row reads the matrix of its expert where it lies. A block has a row and
// kRowColumns columns or half as many; its threads share the inner extent, each with a pack of neighbouring columns. X:
// type of values; I: of the experts' numbers.
#include "backends/cuda/kernels/experts/expert_parameters.h"
#include "prelude.cuh"

template <int kPack, int kColumns>
__device__ inline void multiplyRow(const ExpertParameters& p) {
  constexpr int kLanes = kColumns / kPack;
  constexpr int kGroups = kExpertThreads / kLanes;  // that share the inner extent
  constexpr int kAtOnce = 8;
  typedef Pack<X, kPack> Columns;
  __shared__ float values[kRowDepth];
  __shared__ float parts[kGroups][kColumns];
  const i64 row = blockIdx.x / p.columnTiles;
  const i64 expert = load<I>(p.chosen, row);
  const bool isExpert = expert >= 0 && expert < p.experts;
  const int lane = threadIdx.x % kLanes;
  const int group = threadIdx.x / kLanes;
  const i64 column = blockIdx.x % p.columnTiles * kColumns + lane * kPack;
  const i64 source = (p.sources == 1 ? row / p.perToken : row) * p.depth;
  const X* const weights = (const X*)p.weights + expert * p.depth * p.columns + column;
  float sum[kPack] = {};
  for (i64 first = 0; isExpert && first < p.depth; first += kRowDepth) {
    const int there = (int)(p.depth - first < kRowDepth ? p.depth - first : kRowDepth);
    __syncthreads();  // those before have been read
    for (int d = threadIdx.x; d < there; d += kExpertThreads) values[d] = load<X>(p.x, source + first + d);
    __syncthreads();
    if (column >= p.columns) continue;
    for (int from = group; from < there; from += kAtOnce * kGroups) {
      Columns pack[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int d = from + k * kGroups;
        if (d < there) pack[k] = *(const Columns*)(weights + (first + d) * p.columns);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int d = from + k * kGroups;
        if (d >= there) continue;
#pragma unroll
        for (int j = 0; j < kPack; ++j) sum[j] += values[d] * Element<X>::load(pack[k].e[j]);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kPack; ++j) parts[group][lane * kPack + j] = sum[j];
  __syncthreads();
  const i64 to = blockIdx.x % p.columnTiles * kColumns + threadIdx.x;
  if (threadIdx.x >= kColumns || to >= p.columns) return;
  float total = 0.f;
  for (int k = 0; k < kGroups; ++k) total += parts[k][threadIdx.x];
  store<X>(p.y, row * p.columns + to, total);
}

constexpr int kWidePack = 16 / sizeof(X);
KERNEL(tenon_expert_rows, ExpertParameters) { multiplyRow<kWidePack, kRowColumns>(p); }
KERNEL(tenon_expert_rows_half, ExpertParameters) { multiplyRow<kWidePack, kRowColumns / 2>(p); }
KERNEL(tenon_expert_rows_single, ExpertParameters) { multiplyRow<1, kRowColumns / 2>(p); }
