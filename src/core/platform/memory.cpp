// Sizes of memory as Linux tells them.
#include "core/platform/memory.h"

#include <sys/sysinfo.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace tenon::platform {

uint64_t memoryBytes() {
  struct sysinfo facts {};
  if (sysinfo(&facts) != 0 || facts.totalram == 0) return UINT64_MAX;
  return (uint64_t{facts.totalram} + facts.totalswap) * facts.mem_unit;
}

ProcessMemory processMemory() {
  ProcessMemory result;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    // "VmRSS:    1234 kB"
    uint64_t* field = line.starts_with("VmRSS:")   ? &result.residentBytes
                      : line.starts_with("VmHWM:") ? &result.peakBytes
                                                   : nullptr;
    if (field != nullptr) *field = std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
  }
  return result;
}

}  // namespace tenon::platform
