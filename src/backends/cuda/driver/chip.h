// Facts of the chip by which kernels divide their work among blocks.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

// Of the GPU that is here; without one those of an H200, so that choices can be looked at anywhere.
int64_t multiprocessors();
int64_t sharedBytesOfMultiprocessor();  // that blocks may take beside what the system keeps
int64_t registersOfMultiprocessor();    // of 32 bits

// Whether there are matrix products of warpgroups (wgmma): instructions of sm_90a, for which code is compiled on chips
// of compute capability 9.0 and which later ones do not have.
bool hasWarpgroupProducts();

// Blocks below which a launch leaves a part of the chip without work: two for each multiprocessor.
inline int64_t fewBlocks() { return 2 * multiprocessors(); }

}  // namespace tenon::backends::cuda
