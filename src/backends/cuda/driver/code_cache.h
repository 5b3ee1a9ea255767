// Compiled kernels on disk, by the hash of what they were made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/fields.h"

namespace tenon::backends::cuda {

// Two hashes of what code was made from. The text may come in parts, of which the first ones are hashed once for many.
class CodeKey {
 public:
  explicit CodeKey(std::string_view text) { add(text); }
  void add(std::string_view text) noexcept {
    first_ = hashBytes(text, first_);
    second_ = hashBytes(text, second_);
  }
  uint64_t first() const noexcept { return first_; }
  uint64_t second() const noexcept { return second_; }

 private:
  uint64_t first_ = hashBytes("");
  uint64_t second_ = 0x9e3779b97f4a7c15ull;
};

// Empty when the cache has none (or what it has is damaged, or there is no folder).
std::vector<std::byte> readCachedCode(const CodeKey& key);

// Several processes may write at once: a file appears whole or not at all. Failures are silent; the code exists anyway.
void writeCachedCode(const CodeKey& key, const std::vector<std::byte>& code);

}  // namespace tenon::backends::cuda
