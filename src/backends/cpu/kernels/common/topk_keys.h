// Elements as whole numbers in the order of an operator, and the best of these.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

namespace tenon::backends::cpu {

// An unsigned number that is larger for larger elements; all NaN are one number above the others, both zeros one.
inline uint32_t orderOf(float value) {
  if (value != value) return std::numeric_limits<uint32_t>::max();
  const auto bits = std::bit_cast<uint32_t>(value == 0 ? 0.f : value);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
inline uint32_t orderOf(int32_t value) { return static_cast<uint32_t>(value) ^ 0x80000000u; }
inline uint32_t orderOf(int8_t value) { return orderOf(static_cast<int32_t>(value)); }
inline uint32_t orderOf(uint8_t value) { return value; }

// Smaller keys are better: what the order makes of the element, with the index behind it, so that no two are equal.
template <typename T>
uint64_t keyOf(T value, int64_t index, bool largest) {
  const uint32_t order = orderOf(value);
  return static_cast<uint64_t>(largest ? ~order : order) << 32 | static_cast<uint32_t>(index);
}

struct WideKey {
  uint64_t order;
  uint64_t index;
  bool operator<(const WideKey& other) const {
    return order != other.order ? order < other.order : index < other.index;
  }
};
inline WideKey keyOf(int64_t value, int64_t index, bool largest) {
  const uint64_t order = static_cast<uint64_t>(value) ^ (uint64_t{1} << 63);
  return {largest ? ~order : order, static_cast<uint64_t>(index)};
}
inline int64_t indexOf(uint64_t key) { return static_cast<int64_t>(key & 0xffffffffu); }
inline int64_t indexOf(const WideKey& key) { return static_cast<int64_t>(key.index); }

// Sorts by the upper 32 bits; equal ones stay in their order. `other` has room for as many; returns which of both has
// the keys.
inline uint64_t* sortByOrder(uint64_t* keys, uint64_t* other, int64_t count) {
  constexpr int kDigits = 4, kValues = 256;
  constexpr auto digitOf = [](uint64_t key, int digit) { return key >> (32 + 8 * digit) & (kValues - 1); };
  uint32_t counts[kDigits][kValues] = {};
  for (int64_t i = 0; i < count; ++i) {
    for (int digit = 0; digit < kDigits; ++digit) ++counts[digit][digitOf(keys[i], digit)];
  }
  for (int digit = 0; digit < kDigits; ++digit) {
    if (counts[digit][digitOf(keys[0], digit)] == static_cast<uint32_t>(count)) continue;  // all alike
    uint32_t first = 0;
    for (uint32_t& places : counts[digit]) first += std::exchange(places, first);
    for (int64_t i = 0; i < count; ++i) other[counts[digit][digitOf(keys[i], digit)]++] = keys[i];
    std::swap(keys, other);
  }
  return keys;
}

// The best `k` of the keys, in order. Few: a sorted list of the best so far; next(i, key) is the first element from i
// on that is better than that of the key.
template <typename Key, typename Make, typename Next>
void select(Key* keys, int64_t count, int64_t k, Make make, Next next) {
  constexpr int64_t kFew = 64;
  if (k <= kFew) {
    int64_t held = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (held == k) i = next(i, keys[k - 1]);
      if (i == count) return;
      const Key key = make(i);
      if (held == k && !(key < keys[k - 1])) continue;
      int64_t at = held < k ? held++ : k - 1;
      for (; at > 0 && key < keys[at - 1]; --at) keys[at] = keys[at - 1];
      keys[at] = key;
    }
    return;
  }
  // Many: whenever there is no more room, the best k of those that are held stay, and only what is better is taken.
  constexpr int64_t kLeastRoom = 1024;
  const int64_t room = std::min(count, std::max(4 * k, kLeastRoom));
  int64_t held = 0;
  bool isFull = false;
  for (int64_t i = 0; i < count; ++i) {
    if (isFull) i = next(i, keys[k - 1]);
    if (i == count) break;
    keys[held++] = make(i);
    if (held < room || room == count) continue;
    std::nth_element(keys, keys + k - 1, keys + held);
    held = k;
    isFull = true;
  }
  if (k < held) std::nth_element(keys, keys + k - 1, keys + held);
  std::sort(keys, keys + k);
}

}  // namespace tenon::backends::cpu
