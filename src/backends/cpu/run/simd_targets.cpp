// TENON_MAX_ISA for Highway.
#include "backends/cpu/run/simd_targets.h"

#include <hwy/highway.h>

#include "core/platform/processor.h"

namespace tenon::backends::cpu {

void limitSimdTargets() {
  static const bool kDone = [] {
    using platform::Isa;
    const Isa best = platform::bestIsa();
    if (best < Isa::kAvx512) hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
    if (best < Isa::kAvx2) hwy::DisableTargets(HWY_AVX2);
    return true;
  }();
  static_cast<void>(kDone);
}

}  // namespace tenon::backends::cpu
