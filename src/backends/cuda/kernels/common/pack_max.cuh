// The larger elements of two packs.
#pragma once

#include "prelude.cuh"

// Of halves, two at once.
template <typename S, int kWidth>
struct PackMax {
  __device__ static void join(Pack<S, kWidth>& highest, const Pack<S, kWidth>& other) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      highest.e[j] = Element<S>::store(Max()(Element<S>::load(highest.e[j]), Element<S>::load(other.e[j])));
  }
};
template <typename S, unsigned (*kMax)(unsigned, unsigned), int kWidth>
__device__ __forceinline__ void joinPairs(Pack<S, kWidth>& highest, const Pack<S, kWidth>& other) {
  auto& a = (Pack<unsigned, kWidth / 2>&)highest;
  const auto& b = (const Pack<unsigned, kWidth / 2>&)other;
#pragma unroll
  for (int j = 0; j < kWidth / 2; ++j) a.e[j] = kMax(a.e[j], b.e[j]);
}
template <int kWidth>
struct PackMax<f32, kWidth> {
  __device__ static void join(Pack<f32, kWidth>& highest, const Pack<f32, kWidth>& other) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) highest.e[j] = maxFloats(highest.e[j], other.e[j]);
  }
};
template <>
struct PackMax<f16, 8> {
  __device__ static void join(Pack<f16, 8>& highest, const Pack<f16, 8>& other) {
    joinPairs<f16, maxHalves>(highest, other);
  }
};
template <>
struct PackMax<bf16, 8> {
  __device__ static void join(Pack<bf16, 8>& highest, const Pack<bf16, 8>& other) {
    joinPairs<bf16, maxBfloats>(highest, other);
  }
};
