// Allocation on large pages.
#include "core/large_memory.h"

#include <cstdlib>

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

}  // namespace tenon
