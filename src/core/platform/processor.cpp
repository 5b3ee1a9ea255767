// Processor facts by the compiler's own detection, and the name from /proc/cpuinfo.
#include "core/platform/processor.h"

#include <sys/mman.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "core/error.h"

namespace tenon::platform {
namespace {

#if defined(__x86_64__)
Isa detect() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return Isa::kAvx2;
  if (__builtin_cpu_supports("sse4.1")) return Isa::kSse4;
  return Isa::kBaseline;
}
bool detectVnni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") != 0;
}
bool detectByteTables() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vbmi") != 0;
}
// Asked by hand: Clang 14 does not know the name.
bool detectNarrowVnni() {
  constexpr unsigned kBit = 1u << 4;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kBit) != 0;
}
// The system saves these registers, 8 KiB a thread, for processes that asked for them.
bool detectByteTiles() {
  constexpr unsigned kTiles = 1u << 24;
  constexpr unsigned kBytes = 1u << 25;
  constexpr unsigned kSavesState = 1u << 27;
  constexpr unsigned kSaved = 3u << 17;
  constexpr int kAskPermission = 0x1023;
  constexpr int kTileData = 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSavesState) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTiles) == 0 || (d & kBytes) == 0) return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kSaved) == kSaved && syscall(SYS_arch_prctl, kAskPermission, kTileData) == 0;
}
#else
Isa detect() { return Isa::kBaseline; }
bool detectVnni() { return false; }
bool detectNarrowVnni() { return false; }
bool detectByteTables() { return false; }
bool detectByteTiles() { return false; }
#endif

const char* limitName() {
  const char* value = std::getenv("TENON_MAX_ISA");
  return value == nullptr || *value == '\0' ? nullptr : value;
}

Isa limit() {
  const char* value = limitName();
  if (value == nullptr) return Isa::kAvx512;
  for (const Isa isa : {Isa::kSse4, Isa::kAvx2, Isa::kAvx512}) {
    if (name(isa) == value) return isa;
  }
  throw UserError("TENON_MAX_ISA is '{}', expected sse4, avx2 or avx512", value);
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::kSse4: return "sse4";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
    case Isa::kBaseline: break;
  }
  return "baseline";
}

Isa bestIsa() {
  static const Isa kBest = std::min(detect(), limit());
  return kBest;
}

bool hasVnni() {
  static const bool kHas = bestIsa() == Isa::kAvx512 && detectVnni();
  return kHas;
}

bool hasByteTables() {
  static const bool kHas = bestIsa() >= Isa::kAvx512 && detectByteTables();
  return kHas;
}

bool hasByteTiles() {
  static const bool kHas = limitName() == nullptr && bestIsa() == Isa::kAvx512 && detectByteTiles();
  return kHas;
}

bool hasNarrowVnni() {
  static const bool kHas = bestIsa() >= Isa::kAvx2 && detectNarrowVnni();
  return kHas;
}

size_t sharedCacheBytes() {
  static const size_t kBytes = [] {
    constexpr size_t kUsual = size_t{32} << 20;
    // The C library's own answer adds up what cores of a large processor do not share.
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
    size_t size = 0;
    char unit = 0;
    if (!(file >> size >> unit) || size == 0) return kUsual;
    return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : kUsual;
  }();
  return kBytes;
}

std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

void preferLargePages(void* memory, size_t bytes) noexcept { (void)madvise(memory, bytes, MADV_HUGEPAGE); }

}  // namespace tenon::platform
