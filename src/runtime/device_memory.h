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

// Whose memory the kernels take that the calling thread makes ready: what an instance keeps on the device beyond a
// launch belongs to a context as its arena does, and shapes are all that configure() is given.
class AllocatorScope {
 public:
  explicit AllocatorScope(AllocatorHook* allocator) noexcept;
  ~AllocatorScope();
  AllocatorScope(const AllocatorScope&) = delete;
  AllocatorScope& operator=(const AllocatorScope&) = delete;

  static AllocatorHook* allocator() noexcept;  // null: the device's own memory

 private:
  AllocatorHook* const before_;
};

}  // namespace tenon::runtime
