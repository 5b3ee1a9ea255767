// Facts about the machine's memory.
#pragma once

#include <cstdint>

namespace tenon::platform {

// Main memory and swap of the machine; UINT64_MAX where the system does not say.
uint64_t memoryBytes();

}  // namespace tenon::platform
