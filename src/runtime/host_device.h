// The machine itself as a device: host memory, work ordered by hostcuda's streams. Shared by the backends ref and cpu.
#pragma once

#include "runtime/device.h"

namespace tenon::runtime {

// Kind "cpu"; one for the process, never destroyed. Properties and requirements are "isa:sse4", "isa:avx2",
// "isa:avx512". Where a GPU is in use, hostcuda orders nothing, and work runs at once in the calling thread.
Device& hostDevice();

}  // namespace tenon::runtime
