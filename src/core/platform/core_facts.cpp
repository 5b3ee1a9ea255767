// By the processor's own identification.
#include "core/platform/core_facts.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/platform/processor.h"

namespace tenon::platform {
namespace {

#if defined(__x86_64__)
// AMD's family 19h: its models with AVX-512 are those of Zen 4.
bool detectHalves() {
  constexpr unsigned kFamily = 0x19;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0 || b != signature_AMD_ebx || c != signature_AMD_ecx) return false;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  return (a >> 8 & 0xf) + (a >> 20 & 0xff) == kFamily && bestIsa() >= Isa::kAvx512;
}
#else
bool detectHalves() { return false; }
#endif

}  // namespace

bool halvesVectors() {
  static const bool kHalves = detectHalves();
  return kHalves;
}

}  // namespace tenon::platform
