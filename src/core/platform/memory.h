// Facts about the machine's memory.
#pragma once

#include <cstdint>

namespace tenon::platform {

// Main memory and swap of the machine; UINT64_MAX where the system does not say.
uint64_t memoryBytes();

// What this process holds in main memory, now and at most since it began; 0 where the system does not say.
struct ProcessMemory {
  uint64_t residentBytes = 0;
  uint64_t peakBytes = 0;
};
ProcessMemory processMemory();

}  // namespace tenon::platform
