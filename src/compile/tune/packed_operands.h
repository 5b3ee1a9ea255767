// Packed constants of kernels that run by themselves, to be measured or checked: each in memory of its own, which no
// kernel shares that packs in another way.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/device_memory.h"
#include "runtime/packer.h"

namespace tenon::compile {

class PackedOperands {
 public:
  explicit PackedOperands(runtime::Device& device) : device_(device) {}

  struct Operand {
    size_t input = 0;
    void* data = nullptr;  // on the device; null for what a kernel finds in the place of another operand
    uint64_t bytes = 0;
  };
  // What `kernel` reads packed, in a node whose first output has this layout. `constants`: as it was loaded with; they
  // must not change until clear(). Thread-safe.
  std::vector<Operand> of(const runtime::Kernel& kernel, std::span<const TensorView> constants, Layout output);
  void clear() { known_.clear(); }

 private:
  struct Packed {
    std::once_flag once;
    runtime::DeviceMemory memory;
  };
  Packed& find(std::string key);

  runtime::Device& device_;
  std::mutex mutex_;
  std::map<std::string, Packed> known_;  // by recipe and addresses of the constants
};

}  // namespace tenon::compile
