// Compiled kernels on disk, by the hash of what they were made from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tenon::backends::cuda {

// Empty when the cache has none (or what it has is damaged, or there is no folder).
std::vector<std::byte> readCachedCode(const std::string& key);

// Several processes may write at once: a file appears whole or not at all. Failures are silent; the code exists anyway.
void writeCachedCode(const std::string& key, const std::vector<std::byte>& code);

}  // namespace tenon::backends::cuda
