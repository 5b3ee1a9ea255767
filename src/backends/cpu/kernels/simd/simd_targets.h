// Which instruction sets Highway code is compiled for (few: each costs compile time), and which of them is used.
// Highway's own dispatch does the same, but asks its library, whose load measures the processor's clock for 5 ms.
#pragma once

// Highway's own setting, no test of ours: left out to save the compile time of two more targets.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)

#include <hwy/targets.h>

// The functions of that name in HWY_NAMESPACE, by target, and the one for this processor.
#define TENON_SIMD_TABLE(FUNCTION)                                            \
  constexpr decltype(&HWY_STATIC_DISPATCH(FUNCTION)) FUNCTION##ByTarget[] = { \
      nullptr, HWY_CHOOSE_TARGET_LIST(FUNCTION), HWY_CHOOSE_FALLBACK(FUNCTION)}
#define TENON_SIMD_BEST(FUNCTION) FUNCTION##ByTarget[::tenon::backends::cpu::simdTarget().GetIndex()]

namespace tenon::backends::cpu {

// The best target that the processor has and TENON_MAX_ISA allows.
const hwy::ChosenTarget& simdTarget();

}  // namespace tenon::backends::cpu
