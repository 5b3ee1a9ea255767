// Random numbers: four in [0, 1) by each thread, from Philox 4x32-10 (ops/philox.h).
#include "backends/cuda/kernels/random/random_parameters.h"
#include "prelude.cuh"

KERNEL(tenon_random, RandomParameters) {
  const i64 first = globalIndex() * 4;
  if (first >= p.count) return;
  const RandomDraw draw = *p.draw;
  const uint64_t block = (uint64_t)first / 4;
  uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)draw.place, (uint32_t)(draw.place >> 32)};
  uint32_t key[2] = {(uint32_t)draw.key, (uint32_t)(draw.key >> 32)};
  for (int round = 0; round < p.rounds; ++round) {
    const uint32_t aHigh = __umulhi(p.factors[0], counter[0]);
    const uint32_t aLow = p.factors[0] * counter[0];
    const uint32_t bHigh = __umulhi(p.factors[1], counter[2]);
    const uint32_t bLow = p.factors[1] * counter[2];
    counter[0] = bHigh ^ counter[1] ^ key[0];
    counter[1] = bLow;
    counter[2] = aHigh ^ counter[3] ^ key[1];
    counter[3] = aLow;
    key[0] += p.steps[0];
    key[1] += p.steps[1];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (first + i < p.count) p.y[first + i] = (float)(counter[i] >> 8) * 5.9604644775390625e-8f;  // 2^-24
  }
}
