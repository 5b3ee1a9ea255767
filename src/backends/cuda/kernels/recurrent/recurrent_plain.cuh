// A recurrent network of any kind and size: a block for each direction and row of the batch, the matrix read in every
// step. X: element type; the others: recurrent.cuh. States lie in global memory: exchange [directions * batch, 3,
// hidden] has two of them and, behind, the cell or the state that a GRU has reset.
#pragma once

#include "recurrent.cuh"

// Of a row of the matrix with a state, by a warp; every lane gets the sum.
__device__ __forceinline__ float rowSum(const RecurrentParameters& p, i64 row, const float* state, int lane) {
  float sum = 0.f;
  for (int k = lane; k < p.hidden; k += 32) sum += load<X>(p.weights, row * p.hidden + k) * state[k];
  return warpReduce(sum, Add());
}

KERNEL_BOUNDED(__launch_bounds__(512), tenon_recurrent_plain, RecurrentParameters) {
  const int direction = blockIdx.y, row = blockIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const i64 line = (i64)direction * p.batch + row;
  float* const states = p.exchange + line * 3 * p.hidden;
  float* const reset = states + 2 * p.hidden;
  float* const cells = CELL == 2 ? reset : states;
  for (int unit = threadIdx.x; unit < p.hidden; unit += blockDim.x) {
    states[unit] = p.first != nullptr ? load<X>(p.first, line * p.hidden + unit) : 0.f;
    if (CELL == 2) cells[unit] = p.firstCell != nullptr ? load<X>(p.firstCell, line * p.hidden + unit) : 0.f;
  }
  __syncthreads();
  const bool isReverse = direction == 1 || p.reverse != 0;
  for (int step = 0; step < p.steps; ++step) {
    const int time = isReverse ? p.steps - 1 - step : step;
    const i64 place = ((i64)time * p.batch + row) * p.directions + direction;
    const float* const state = states + step % 2 * p.hidden;
    float* const next = states + (step + 1) % 2 * p.hidden;
    const bool there = isThere(p, row, time);
    const auto product = [&](int gate, int unit) {
      return load<X>(p.products, (place * kGates + gate) * p.hidden + unit);
    };
    const auto matrixRow = [&](int gate, int unit) { return ((i64)direction * kGates + gate) * p.hidden + unit; };
    if (CELL == 1 && !LATE) {
      for (int unit = warp; unit < p.hidden; unit += warps) {
        const float sum = rowSum(p, matrixRow(1, unit), state, lane);
        if (lane == 0) reset[unit] = firstOf(product(1, unit) + sum) * state[unit];
      }
      __syncthreads();
    }
    for (int unit = warp; unit < p.hidden; unit += warps) {
      float sums[kGates], in[kGates];
      for (int gate = 0; gate < kGates; ++gate) {
        if (CELL == 1 && !LATE && gate == 1) continue;
        sums[gate] = rowSum(p, matrixRow(gate, unit), CELL == 1 && !LATE && gate == 2 ? reset : state, lane);
        in[gate] = product(gate, unit);
      }
      if (lane != 0) continue;
      float cell = CELL == 2 ? cells[unit] : 0.f;
      const float computed = stepOf(unitOf(p, direction, unit), in, sums, state[unit], cell);
      store<X>(p.y, place * p.hidden + unit, there ? computed : 0.f);
      next[unit] = there ? computed : state[unit];
      if (CELL == 2 && there) cells[unit] = cell;
    }
    __syncthreads();
  }
  for (int unit = threadIdx.x; unit < p.hidden; unit += blockDim.x) {
    if (p.last != nullptr) store<X>(p.last, line * p.hidden + unit, states[p.steps % 2 * p.hidden + unit]);
    if (CELL == 2 && p.lastCell != nullptr) store<X>(p.lastCell, line * p.hidden + unit, cells[unit]);
  }
}
