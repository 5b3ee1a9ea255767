// The mask of an attention as the threads of a warp take it, in registers.
#pragma once

#include "prelude.cuh"

// Two neighbours.
template <typename T>
struct PairOf {  // halves
  unsigned bits;
  __device__ __forceinline__ static PairOf of(T low, T high) { return {low.bits | (unsigned)high.bits << 16}; }
  __device__ __forceinline__ float value(int index) const {
    T element;
    element.bits = (unsigned short)(bits >> 16 * index);
    return Element<T>::load(element);
  }
};
template <>
struct alignas(8) PairOf<f32> {
  float low, high;
  __device__ __forceinline__ static PairOf of(float low, float high) { return {low, high}; }
  __device__ __forceinline__ float value(int index) const { return index == 0 ? low : high; }
};

// A row, and the one 8 below (or the last).
template <typename T>
struct MaskRows {
  const T* row[2];
  i64 stride;
  int keys;
  bool pairs;

  // `first` is the mask's beginning for the head; with `pairs`, neighbouring keys can be read at once.
  __device__ __forceinline__ MaskRows(const T* first, i64 rowStride, i64 keyStride, int at, int rows, int keys,
                                      bool pairs)
      : stride(keyStride), keys(keys), pairs(pairs) {
    for (int half = 0; half < 2; ++half) row[half] = first + min(at + 8 * half, rows - 1) * rowStride;
  }
  __device__ __forceinline__ PairOf<T> read(int half, int column) const {
    if (column >= keys) return PairOf<T>::of(T{}, T{});
    if (pairs) return *(const PairOf<T>*)(row[half] + column);
    return PairOf<T>::of(row[half][column * stride], column + 1 < keys ? row[half][(column + 1) * stride] : T{});
  }
  // Pairs in steps of 8 columns; zeros behind the last key.
  template <int kMany>
  __device__ __forceinline__ void load(PairOf<T> (&to)[kMany][2], int column) const {
#pragma unroll
    for (int n = 0; n < kMany; ++n) {
      to[n][0] = read(0, column + 8 * n);
      to[n][1] = read(1, column + 8 * n);
    }
  }
};

// A mask's value for scores in base 2. What is finite stays so: the lowest float times 1.44 would not, that of f16
// does.
template <typename T>
__device__ __forceinline__ float inBaseTwo(float mask) {
  const float scaled = mask * 1.44269504f;
  return mask > -infinity() ? fmaxf(scaled, -3e38f) : scaled;
}
template <>
__device__ __forceinline__ float inBaseTwo<f16>(float mask) {
  return mask * 1.44269504f;
}

// A mask that is one for all queries: a float for each key of a tile of kTile, which the first threads of a block load
// and, when it has arrived, put to shared memory; keys behind the last are left out.
template <typename T, int kTile>
struct KeyMask {
  const T* first;
  i64 stride;
  int keys;
  T value;
  bool inside;

  __device__ __forceinline__ void load(int tile) {
    const int key = tile + threadIdx.x;
    inside = threadIdx.x < kTile && key < keys;
    value = T{};
    if (inside) value = first[key * stride];
  }
  __device__ __forceinline__ void store(float* shared) const {
    if (threadIdx.x < kTile) shared[threadIdx.x] = inside ? inBaseTwo<T>(Element<T>::load(value)) : -infinity();
  }
};
