// Owned memory of a device, from the device itself or from the user's allocator.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/hooks.h"

namespace tenon::runtime {

constexpr size_t kMemoryAlignment = 256;

class DeviceMemory {
 public:
  DeviceMemory() = default;
  // `purpose` is for the message of OutOfMemory. No bytes, no memory.
  DeviceMemory(Device& device, AllocatorHook* allocator, uint64_t bytes, std::string_view purpose,
               StreamHandle stream = nullptr);
  ~DeviceMemory() { reset(); }
  DeviceMemory(DeviceMemory&& other) noexcept { *this = static_cast<DeviceMemory&&>(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  void* data() const noexcept { return data_; }
  uint64_t bytes() const noexcept { return bytes_; }

 private:
  void reset() noexcept;
  Device* device_ = nullptr;
  AllocatorHook* allocator_ = nullptr;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
  StreamHandle stream_ = nullptr;
};

}  // namespace tenon::runtime
