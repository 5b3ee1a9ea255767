// Memory of a device in which writes beside the payload are found.
#pragma once

#include <algorithm>
#include <vector>

#include "core/storage.h"
#include "runtime/device.h"

namespace tenon::compile {

// Device memory with red zones on both sides of the payload.
class GuardedBuffer {
 public:
  GuardedBuffer(runtime::Device& device, size_t bytes) : device_(device), bytes_(bytes) {
    base_ = static_cast<char*>(device.allocate(addBytes(bytes, 2 * kRedZone), kRedZone));
    const std::vector<unsigned char> red(kRedZone, kRedByte);
    put(base_, red.data(), kRedZone);
    put(base_ + kRedZone + bytes_, red.data(), kRedZone);
  }
  ~GuardedBuffer() { device_.free(base_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  size_t bytes() const { return bytes_; }
  void* data() const { return base_ + kRedZone; }
  void write(const void* from) { put(base_ + kRedZone, from, bytes_); }
  // The pattern over and over.
  void fill(const std::vector<char>& pattern) {
    char* const to = base_ + kRedZone;
    const size_t first = std::min(pattern.size(), bytes_);
    device_.copy(to, pattern.data(), first, runtime::CopyKind::kHostToDevice, nullptr);
    for (size_t done = first; done < bytes_; done += std::min(done, bytes_ - done))  // whole patterns so far
      device_.copy(to + done, to, std::min(done, bytes_ - done), runtime::CopyKind::kDeviceToDevice, nullptr);
    device_.synchronize(nullptr);
  }
  bool intact() const {
    std::vector<unsigned char> zones(2 * kRedZone);
    device_.copy(zones.data(), base_, kRedZone, runtime::CopyKind::kDeviceToHost, nullptr);
    device_.copy(zones.data() + kRedZone, base_ + kRedZone + bytes_, kRedZone, runtime::CopyKind::kDeviceToHost,
                 nullptr);
    device_.synchronize(nullptr);
    return std::all_of(zones.begin(), zones.end(), [](unsigned char c) { return c == kRedByte; });
  }

 private:
  static constexpr size_t kRedZone = 256;
  static constexpr unsigned char kRedByte = 0xb7;

  void put(void* to, const void* from, size_t bytes) {
    device_.copy(to, from, bytes, runtime::CopyKind::kHostToDevice, nullptr);
    device_.synchronize(nullptr);
  }
  runtime::Device& device_;
  size_t bytes_;
  char* base_ = nullptr;
};

}  // namespace tenon::compile
