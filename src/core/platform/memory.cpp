// Sizes of memory as Linux tells them.
#include "core/platform/memory.h"

#include <sys/sysinfo.h>

namespace tenon::platform {

uint64_t memoryBytes() {
  struct sysinfo facts {};
  if (sysinfo(&facts) != 0 || facts.totalram == 0) return UINT64_MAX;
  return (uint64_t{facts.totalram} + facts.totalswap) * facts.mem_unit;
}

}  // namespace tenon::platform
