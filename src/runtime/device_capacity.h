// An optional capability of a device: its total memory.
#pragma once

#include <cstdint>

namespace tenon::runtime {

// The other face of a device, asked for by dynamic_cast: one whose allocations succeed beyond what it has, and fail
// when they are touched. Thread-safe.
class DeviceCapacity {
 public:
  virtual ~DeviceCapacity() = default;
  virtual uint64_t memoryBytes() const = 0;
};

}  // namespace tenon::runtime
