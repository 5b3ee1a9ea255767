// Which instruction sets Highway code is compiled for (few: each costs compile time), and the run-time limit.
#pragma once

// Highway's own setting, no test of ours: left out to save the compile time of two more targets.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)

namespace tenon::backends::cpu {

// Applies TENON_MAX_ISA to Highway's dispatch; once, cheap afterwards.
void limitSimdTargets();

}  // namespace tenon::backends::cpu
