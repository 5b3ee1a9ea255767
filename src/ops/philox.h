// Philox 4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw (2011): 128 bits of counter and 64 of
// key give 128 random bits.
#pragma once

#include <array>
#include <cstdint>

namespace tenon::ops {

constexpr uint32_t kPhiloxFactors[2] = {0xD2511F53U, 0xCD9E8D57U};
constexpr uint32_t kPhiloxSteps[2] = {0x9E3779B9U, 0xBB67AE85U};  // of the key, from round to round
constexpr int kPhiloxRounds = 10;

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t a = uint64_t{kPhiloxFactors[0]} * counter[0];
    const uint64_t b = uint64_t{kPhiloxFactors[1]} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    for (size_t i = 0; i < 2; ++i) key[i] += kPhiloxSteps[i];
  }
  return counter;
}

// Four numbers in [0, 1) of 24 bits: elements 4 * block and the next three of the draw at this place.
inline std::array<float, 4> uniformNumbers(uint64_t key, uint64_t place, uint64_t block) {
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto bits = philox({low(block), low(block >> 32), low(place), low(place >> 32)}, {low(key), low(key >> 32)});
  std::array<float, 4> result{};
  for (size_t i = 0; i < 4; ++i) result[i] = static_cast<float>(bits[i] >> 8) * 0x1p-24F;
  return result;
}

}  // namespace tenon::ops
