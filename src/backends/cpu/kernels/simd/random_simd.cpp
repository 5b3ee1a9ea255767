// Philox over arrays of counters, of which the compiler makes vectors for each instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/random_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "backends/cpu/kernels/simd/random_simd.h"
#include "ops/philox.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace drawing {

constexpr size_t kLanes = 16;  // counters at once

HWY_INLINE uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
HWY_INLINE uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// Numbers of the blocks from `block` on, four for each lane.
HWY_INLINE void draw(uint64_t key, uint64_t place, uint64_t block, float* HWY_RESTRICT out) {
  uint32_t c[4][kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    c[0][i] = low(block + i);
    c[1][i] = high(block + i);
    c[2][i] = low(place);
    c[3][i] = high(place);
  }
  uint32_t k0 = low(key), k1 = high(key);
  for (int round = 0; round < ops::kPhiloxRounds; ++round) {
    for (size_t i = 0; i < kLanes; ++i) {
      const uint64_t a = uint64_t{ops::kPhiloxFactors[0]} * c[0][i];
      const uint64_t b = uint64_t{ops::kPhiloxFactors[1]} * c[2][i];
      c[0][i] = high(b) ^ c[1][i] ^ k0;
      c[1][i] = low(b);
      c[2][i] = high(a) ^ c[3][i] ^ k1;
      c[3][i] = low(a);
    }
    k0 += ops::kPhiloxSteps[0];
    k1 += ops::kPhiloxSteps[1];
  }
  for (size_t i = 0; i < kLanes; ++i) {
    for (size_t j = 0; j < 4; ++j) out[4 * i + j] = static_cast<float>(static_cast<int32_t>(c[j][i] >> 8)) * 0x1p-24F;
  }
}

void uniform(uint64_t key, uint64_t place, uint64_t block, float* out, size_t count) {
  constexpr size_t kMany = 4 * kLanes;
  for (; count >= kMany; count -= kMany, out += kMany, block += kLanes) draw(key, place, block, out);
  if (count == 0) return;
  float rest[kMany];
  draw(key, place, block, rest);
  std::copy_n(rest, count, out);
}

}  // namespace drawing

UniformFunction findUniform() { return drawing::uniform; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findUniform);

}  // namespace

UniformFunction uniformFunction() { return TENON_SIMD_BEST(findUniform)(); }

}  // namespace tenon::backends::cpu
#endif
