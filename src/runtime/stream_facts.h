// An optional capability of a device: what it knows of the caller's streams and memory.
#pragma once

#include <cstdint>

#include "runtime/device.h"

namespace tenon::runtime {

// The other face of a device; asked for by dynamic_cast. Thread-safe.
class StreamFacts {
 public:
  virtual ~StreamFacts() = default;
  // Whether what is put on the stream goes into a graph of the caller.
  virtual bool isCapturing(StreamHandle stream) = 0;
  // From an address to the end of the allocation that it lies in; UINT64_MAX where that is not known.
  virtual uint64_t bytesBehind(const void* address) = 0;
};

}  // namespace tenon::runtime
