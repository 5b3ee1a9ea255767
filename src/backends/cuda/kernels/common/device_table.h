// Memory on the device that an instance fills when it is configured.
#pragma once

#include "backends/cuda/driver/cuda_device.h"
#include "runtime/device_memory.h"

namespace tenon::backends::cuda {

class DeviceTable {
 public:
  // Waits until the copy stands, and for no stream of the caller. The memory is the engine's allocator's, where it has
  // one. Throws OutOfMemory.
  void write(const void* data, size_t bytes) {
    memory_ = {};
    memory_ = runtime::DeviceMemory(cudaDevice(), runtime::AllocatorScope::allocator(), bytes, "tables of a kernel");
    writeAtOnce(memory_.data(), data, bytes);
  }
  void* data() const noexcept { return memory_.data(); }

 private:
  runtime::DeviceMemory memory_;
};

}  // namespace tenon::backends::cuda
