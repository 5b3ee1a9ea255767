// The step of a recurrent network behind its products. CELL: 0 one gate, 1 GRU (z, r, h), 2 LSTM (i, o, f, c). FIRST,
// SECOND, THIRD: activations of a float x. CLIP: of their operands, or 0. LATE: the GRU resets after its product.
// COUPLED: the LSTM forgets what it does not take in. BIAS, PEEPHOLES: whether there are any. L: the type of lengths.
#pragma once

#include "backends/cuda/kernels/recurrent/recurrent_parameters.h"
#include "prelude.cuh"

constexpr int kGates = CELL == 2 ? 4 : CELL == 1 ? 3 : 1;

__device__ __forceinline__ float exponential(float x) { return powerOfTwo(x * 1.44269504f); }
__device__ __forceinline__ float sigmoid(float x) { return quickDivide(1.f, 1.f + exponential(-x)); }
__device__ __forceinline__ float hyperbolicTangent(float x) {  // near 0 a series: nothing is lost by a difference
  const float square = x * x;
  if (square < 0.01f) return x * (1.f - square * (0.333333333f - square * (0.133333333f - square * 0.053968254f)));
  return 1.f - quickDivide(2.f, 1.f + exponential(2.f * x));
}
__device__ __forceinline__ float bounded(float x) { return CLIP > 0.f ? fminf(fmaxf(x, -(CLIP)), CLIP) : x; }
__device__ __forceinline__ float firstOf(float unbounded) {
  const float x = bounded(unbounded);
  return FIRST;
}
__device__ __forceinline__ float secondOf(float unbounded) {
  const float x = bounded(unbounded);
  return SECOND;
}
__device__ __forceinline__ float thirdOf(float unbounded) {
  const float x = bounded(unbounded);
  return THIRD;
}

// What belongs to one unit of one direction besides the weights.
struct Unit {
  float bias;          // of the GRU's last product
  float peepholes[3];  // of i, o and f
};
__device__ __forceinline__ Unit unitOf(const RecurrentParameters& p, int direction, int unit) {
  Unit own = {};
  if (BIAS) own.bias = load<X>(p.bias, (i64)direction * p.hidden + unit);
  if (PEEPHOLES) {
    for (int k = 0; k < 3; ++k) own.peepholes[k] = load<X>(p.peepholes, ((i64)direction * 3 + k) * p.hidden + unit);
  }
  return own;
}

// `in` are the products with the input, `sums` those with the state before, `before` that state's own unit. Changes the
// cell and returns the state.
__device__ __forceinline__ float stepOf(const Unit& own, const float* in, const float* sums, float before,
                                        float& cell) {
  if (CELL == 2) {
    const float taken = firstOf(in[0] + sums[0] + own.peepholes[0] * cell);
    const float kept = COUPLED ? 1.f - taken : firstOf(in[2] + sums[2] + own.peepholes[2] * cell);
    cell = kept * cell + taken * secondOf(in[3] + sums[3]);
    return firstOf(in[1] + sums[1] + own.peepholes[1] * cell) * thirdOf(cell);
  }
  if (CELL == 1) {
    const float z = firstOf(in[0] + sums[0]);
    const float reset = LATE ? firstOf(in[1] + sums[1]) : 1.f;  // else it is in the product already
    return (1.f - z) * secondOf(in[2] + reset * (sums[2] + own.bias)) + z * before;
  }
  return firstOf(in[0] + sums[0]);
}

__device__ __forceinline__ bool isThere(const RecurrentParameters& p, int row, int time) {
  return p.lengths == nullptr || time < load<L>(p.lengths, row);
}
