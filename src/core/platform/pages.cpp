// Pages through madvise.
#include "core/platform/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace tenon::platform {

void discardPages(void* memory, size_t bytes) noexcept {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(memory) + bytes) / page * page;
  if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tenon::platform
