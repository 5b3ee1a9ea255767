// Allocation with a message that says what for.
#include "runtime/device_memory.h"

#include <utility>

#include "core/error.h"

namespace tenon::runtime {
namespace {

thread_local AllocatorHook* allocatorOfScope = nullptr;

}  // namespace

DeviceMemory::DeviceMemory(Device& device, AllocatorHook* allocator, uint64_t bytes, std::string_view purpose,
                           StreamHandle stream)
    : device_(&device), allocator_(allocator), bytes_(bytes), stream_(stream) {
  if (bytes == 0) return;
  try {
    data_ = allocator != nullptr ? allocator->allocate(bytes, kMemoryAlignment, stream)
                                 : device.allocate(bytes, kMemoryAlignment);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory("{}: {}", purpose, error.what());
  }
  if (data_ == nullptr) throw OutOfMemory("{}: the allocator cannot allocate {} bytes", purpose, bytes);
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(allocator_, other.allocator_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(stream_, other.stream_);
  return *this;
}

void DeviceMemory::reset() noexcept {
  if (data_ == nullptr) return;
  if (allocator_ != nullptr) {
    allocator_->free(data_, stream_);
  } else {
    device_->free(data_);
  }
  data_ = nullptr;
}

AllocatorScope::AllocatorScope(AllocatorHook* allocator) noexcept
    : before_(std::exchange(allocatorOfScope, allocator)) {}
AllocatorScope::~AllocatorScope() { allocatorOfScope = before_; }
AllocatorHook* AllocatorScope::allocator() noexcept { return allocatorOfScope; }

}  // namespace tenon::runtime
