// Keys of sequences, and the one in use.
#include "ops/random_draws.h"

#include <random>

namespace tenon::ops {
namespace {

thread_local Draws* inUse = nullptr;

// A different number each time, of which the first comes from the system (the mixing function is splitmix64).
uint64_t newKey() {
  static std::atomic<uint64_t> state = [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }();
  uint64_t x = state.fetch_add(0x9E3779B97F4A7C15U);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace

Draws::Draws() : key_(newKey()) {}

Draws& Draws::ofThread() {
  static auto* const kOfProcess = new Draws;  // outlives exit handlers
  return inUse != nullptr ? *inUse : *kOfProcess;
}

Draws::Use::Use(Draws& draws) noexcept : before_(inUse) { inUse = &draws; }
Draws::Use::~Use() { inUse = before_; }

}  // namespace tenon::ops
