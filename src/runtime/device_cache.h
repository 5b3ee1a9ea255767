// An optional capability of a device: the size of the cache that keeps data between two kernels.
#pragma once

#include <cstddef>

namespace tenon::runtime {

// The other face of a device, asked for by dynamic_cast. Thread-safe.
class DeviceCache {
 public:
  virtual ~DeviceCache() = default;
  virtual size_t cacheBytes() const = 0;  // of the last cache before memory
};

}  // namespace tenon::runtime
