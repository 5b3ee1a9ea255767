// Tensors in blocks of elements whose bits say which are not zero.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "backends/cpu/kernels/simd/nonzero_simd.h"
#include "core/error.h"

namespace tenon::backends::cpu {

class NonZeroBlocks {
 public:
  static constexpr int64_t kElements = 16384;  // of a block: enough work for one piece, little enough for caches

  void configure(DataType type, int64_t count) {
    masks_ = nonZeroMasks(type);
    if (masks_ == nullptr) throw Unsupported("elements of {}", name(type));
    type_ = type;
    count_ = count;
  }
  int64_t blocks() const { return (count_ + kElements - 1) / kElements; }
  int64_t elements() const { return count_; }

  // visit(first element, bits) for each 64 elements of a block, bits beyond the last element zero.
  template <typename Visit>
  void visit(const void* x, int64_t block, Visit visit) const {
    constexpr int64_t kWords = 64;
    std::array<uint64_t, kWords> words;
    const int64_t end = std::min(count_, (block + 1) * kElements);
    for (int64_t first = block * kElements; first < end;) {
      const int64_t whole = std::min<int64_t>(kWords, (end - first) / 64);
      masks_(at(x, first), static_cast<size_t>(whole), words.data());
      for (int64_t w = 0; w < whole; ++w, first += 64) visit(first, words[static_cast<size_t>(w)]);
      if (whole == kWords || first == end) continue;
      visit(first, lastBits(x, first, end - first));
      first = end;
    }
  }

  int64_t countIn(const void* x, int64_t block) const {
    int64_t count = 0;
    visit(x, block, [&](int64_t, uint64_t bits) { count += std::popcount(bits); });
    return count;
  }

 private:
  const void* at(const void* x, int64_t element) const {
    return static_cast<const char*>(x) + element * (bits(type_) / 8);
  }

  // Of less than 64 elements, which a vector would read beyond.
  uint64_t lastBits(const void* x, int64_t first, int64_t count) const {
    alignas(64) std::array<char, 64 * 8> copy{};
    const auto bytes = static_cast<size_t>(count * (bits(type_) / 8));
    std::copy_n(static_cast<const char*>(at(x, first)), bytes, copy.data());
    uint64_t word = 0;
    masks_(copy.data(), 1, &word);
    return word;
  }

  NonZeroMasks masks_ = nullptr;
  DataType type_ = DataType::kF32;
  int64_t count_ = 0;
};

}  // namespace tenon::backends::cpu
