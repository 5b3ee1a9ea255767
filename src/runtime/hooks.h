// What a user of the runtime may plug in: memory, readers, output memory, profiling, tensors to look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/dims.h"
#include "runtime/device.h"

namespace tenon::runtime {

// Device memory for arenas and constants. Called on the thread that loads, creates a context or changes its shapes.
class AllocatorHook {
 public:
  virtual ~AllocatorHook() = default;
  virtual void* allocate(size_t bytes, size_t alignment, StreamHandle stream) = 0;  // null when there is none
  virtual void free(void* pointer, StreamHandle stream) noexcept = 0;
};

// A serialized engine that comes in pieces, in order.
class StreamReader {
 public:
  virtual ~StreamReader() = default;
  // Reads up to `bytes` bytes to host memory; returns how many, 0 at the end. Throws when reading fails.
  virtual size_t read(void* to, size_t bytes) = 0;
};

// Memory of an output, asked for inside enqueue() on the calling thread, before the work starts.
class OutputAllocatorHook {
 public:
  virtual ~OutputAllocatorHook() = default;
  // Memory for at least `bytes` bytes (never 0); `current` is the address that was set, or null. Null refuses.
  virtual void* reallocate(const std::string& tensor, void* current, uint64_t bytes, uint64_t alignment,
                           StreamHandle stream) = 0;
  virtual void notifyShape(const std::string& tensor, const Dims& dims) = 0;
};

// Times of layers. Called on the thread of enqueue(), after the work is done, in order of the steps.
class ProfilerHook {
 public:
  virtual ~ProfilerHook() = default;
  virtual void report(const std::string& layer, float milliseconds) = 0;
};

// Sees marked tensors right after the step that writes them, on the thread that executes; what it puts on the stream
// comes before the next step.
class DebugHook {
 public:
  virtual ~DebugHook() = default;
  virtual void process(const std::string& tensor, const void* address, bool onHost, DataType dtype, const Dims& dims,
                       StreamHandle stream) = 0;
};

}  // namespace tenon::runtime
