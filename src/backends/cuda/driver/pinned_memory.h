// Host memory that copies read and write in stream order, without waiting.
#pragma once

#include <cstddef>

#include "backends/cuda/driver/libraries.h"

namespace tenon::backends::cuda {

class PinnedMemory {
 public:
  PinnedMemory() = default;
  ~PinnedMemory() { release(); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  void reserve(size_t bytes) {
    if (bytes <= bytes_) return;
    release();
    check(driver().memHostAlloc(&data_, bytes, 0), "cuMemHostAlloc");
    bytes_ = bytes;
  }

 private:
  void release() {
    if (data_ != nullptr) driver().memFreeHost(data_);
    data_ = nullptr;
    bytes_ = 0;
  }
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tenon::backends::cuda
