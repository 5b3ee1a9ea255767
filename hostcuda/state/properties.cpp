// Facts of the machine that stand in for those of a GPU.
#include "properties.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "memory.h"

namespace tenon::hostcuda {
namespace {

int usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
}

// From cpufreq where the kernel offers it, else from /proc/cpuinfo.
int clockKilohertz() {
  constexpr int kUnknown = 2000000;
  if (std::FILE* file = std::fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re")) {
    int kilohertz = 0;
    const bool isRead = std::fscanf(file, "%d", &kilohertz) == 1;
    std::fclose(file);
    if (isRead && kilohertz > 0) return kilohertz;
  }
  std::FILE* file = std::fopen("/proc/cpuinfo", "re");
  if (file == nullptr) return kUnknown;
  char line[512];
  double megahertz = 0;
  while (megahertz <= 0 && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "cpu MHz : %lf", &megahertz) != 1) megahertz = 0;
  }
  std::fclose(file);
  return megahertz > 0 ? static_cast<int>(megahertz * 1000) : kUnknown;
}

int lastLevelCache() {
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = sysconf(level);
    if (bytes > 0) return static_cast<int>(std::min(bytes, 0x7fffffffL));
  }
  return 1 << 20;
}

}  // namespace

const MachineFacts& machineFacts() {
  static const MachineFacts facts = [] {
    MachineFacts result;
    result.processors = usableProcessors();
    result.clockKilohertz = clockKilohertz();
    result.lastLevelCacheBytes = lastLevelCache();
    size_t free = 0;
    MemoryRegistry::instance().info(free, result.memoryBytes);
    return result;
  }();
  return facts;
}

}  // namespace tenon::hostcuda
