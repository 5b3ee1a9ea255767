// Highway's targets by the processor's instruction sets.
#include "backends/cpu/kernels/simd/simd_targets.h"

#include "core/platform/processor.h"

namespace tenon::backends::cpu {

const hwy::ChosenTarget& simdTarget() {
  static hwy::ChosenTarget target;
  static const bool kChosen = [] {
    using platform::Isa;
    const Isa best = platform::bestIsa();
    int64_t targets = HWY_STATIC_TARGET;
    if (best >= Isa::kSse4) targets |= HWY_SSE4;
    if (best >= Isa::kAvx2) targets |= HWY_AVX2;
    if (best >= Isa::kAvx512) targets |= HWY_AVX3;
    target.Update(targets);
    return true;
  }();
  static_cast<void>(kChosen);
  return target;
}

}  // namespace tenon::backends::cpu
