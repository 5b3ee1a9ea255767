// The one door to KernelInstance::configure().
#pragma once

#include "runtime/kernel.h"

namespace tenon::runtime {

// Configures an instance, but never for extents that are negative or whose bytes cannot be counted: kernels compute
// offsets from them. Throws UserError naming the operand and its extents. Returns workspace bytes.
size_t configure(KernelInstance& instance, const Shapes& shapes);

}  // namespace tenon::runtime
