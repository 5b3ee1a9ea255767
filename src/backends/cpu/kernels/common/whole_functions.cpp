// Exponentials and logarithms of whole numbers, by tables of what the operators' rows say.
#include "backends/cpu/kernels/common/whole_functions.h"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "ops/scalar.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kPowers = 40;  // e^40 and less fit 64 bits

int64_t exponentialOf(int64_t a) { return ops::evaluateScalar(ops::ScalarOp::k_exp, a, int64_t{0}, int64_t{0}); }
int64_t logarithmOf(int64_t a) { return ops::evaluateScalar(ops::ScalarOp::k_log, a, int64_t{0}, int64_t{0}); }

std::array<int64_t, kPowers> makePowers() {
  std::array<int64_t, kPowers> powers{};
  for (int64_t k = 0; k < kPowers; ++k) powers[static_cast<size_t>(k)] = exponentialOf(k);
  return powers;
}

// From 2^k to 2^(k + 1) - 1: `value`, and one more from `next` on.
struct Octave {
  int64_t value = 0;
  uint64_t next = std::numeric_limits<uint64_t>::max();
};

std::array<Octave, 63> makeOctaves() {
  std::array<Octave, 63> octaves;
  for (size_t k = 0; k < octaves.size(); ++k) {
    int64_t least = int64_t{1} << k;
    int64_t most = least + (least - 1);
    octaves[k].value = logarithmOf(least);
    if (logarithmOf(most) == octaves[k].value) continue;
    while (least < most) {
      const int64_t middle = least + (most - least) / 2;
      if (logarithmOf(middle) > octaves[k].value) {
        most = middle;
      } else {
        least = middle + 1;
      }
    }
    octaves[k].next = static_cast<uint64_t>(most);
  }
  return octaves;
}

// Results wrap in T.
template <typename T>
void exponentialAs(const void* va, void* vo, size_t count) {
  static const auto kTable = makePowers();
  const auto* a = static_cast<const T*>(va);
  auto* out = static_cast<T*>(vo);
  T positive = 0;
  for (size_t i = 0; i < count; ++i) positive |= a[i] > 0 ? 1 : 0;
  if (positive == 0) {  // as in sums of exponentials, whose greatest is that of 0
    for (size_t i = 0; i < count; ++i) out[i] = a[i] == 0 ? 1 : 0;
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    int64_t result = 0;
    if (a[i] >= kPowers) {
      result = exponentialOf(a[i]);
    } else if (a[i] >= 0) {
      result = kTable[static_cast<size_t>(a[i])];
    }
    out[i] = static_cast<T>(result);
  }
}

}  // namespace

void wholeExponential(const void* a, const void*, const void*, void* out, size_t count) {
  exponentialAs<int64_t>(a, out, count);
}
void narrowExponential(const void* a, const void*, const void*, void* out, size_t count) {
  exponentialAs<int32_t>(a, out, count);
}

void wholeLogarithm(const void* va, const void*, const void*, void* vo, size_t count) {
  static const auto kTable = makeOctaves();
  const auto* a = static_cast<const int64_t*>(va);
  auto* out = static_cast<int64_t*>(vo);
  for (size_t i = 0; i < count; ++i) {
    if (a[i] <= 0) {
      out[i] = logarithmOf(a[i]);
      continue;
    }
    const auto number = static_cast<uint64_t>(a[i]);
    const Octave& octave = kTable[static_cast<size_t>(std::bit_width(number)) - 1];
    out[i] = octave.value + (number >= octave.next ? 1 : 0);
  }
}

}  // namespace tenon::backends::cpu
