// Allocation on large pages, and copies into them.
#include "core/large_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "core/platform/processor.h"

namespace tenon {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

}  // namespace

void* allocateLarge(size_t bytes) noexcept {
  const bool large = bytes >= 2 * kLargePage;
  const size_t alignment = large ? kLargePage : 64;
  if (bytes > static_cast<size_t>(-1) / 2) return nullptr;
  void* const memory = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  if (memory != nullptr && large) platform::preferLargePages(memory, bytes);
  return memory;
}

void freeLarge(void* memory) noexcept { std::free(memory); }

void copyLarge(void* to, const void* from, size_t bytes) noexcept {
  constexpr size_t kPiece = 2 * kLargePage;
  constexpr size_t kMostThreads = 8;
  const size_t pieces = (bytes + kPiece - 1) / kPiece;
  std::atomic<size_t> next{0};
  const auto copy = [&] {
    for (size_t i = next++; i < pieces; i = next++) {
      const size_t at = i * kPiece;
      std::memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, std::min(kPiece, bytes - at));
    }
  };
  std::thread others[kMostThreads - 1];
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t most = std::min({pieces / 2, cores, kMostThreads});
  try {
    for (size_t i = 1; i < most; ++i) others[i - 1] = std::thread(copy);
  } catch (const std::exception&) {
    // As many threads as the system gives.
  }
  copy();
  for (auto& thread : others) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace tenon
