// Outputs of plugins that share the memory of inputs.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/storage.h"
#include "runtime/kernel.h"

namespace tenon::runtime {

// Such outputs begin with the contents of their input. Where the plan could not give both one place, since the input is
// read again or is the caller's, the plugin works on a copy.
class AliasedInputs {
 public:
  // `aliases`: per output, the input whose memory it shares, -1 for none; empty: none at all.
  void configure(const Shapes& shapes, std::span<const int64_t> aliases) {
    addresses_.resize(shapes.inputs.size());
    aliases_.assign(aliases.begin(), aliases.end());
    bytes_.assign(aliases.size(), 0);
    for (size_t i = 0; i < aliases.size(); ++i) {
      const auto& output = shapes.outputs[i];
      if (aliases[i] >= 0) bytes_[i] = storageBytes(output.dtype, output.dims, output.layout);
    }
  }

  // The addresses of the inputs for the plugin.
  void* const* share(const LaunchArguments& arguments, Device& device) {
    if (aliases_.empty()) return arguments.inputs;
    std::copy_n(arguments.inputs, addresses_.size(), addresses_.begin());
    for (size_t i = 0; i < aliases_.size(); ++i) {
      if (aliases_[i] < 0) continue;
      void*& address = addresses_[static_cast<size_t>(aliases_[i])];
      if (address == arguments.outputs[i]) continue;
      device.copy(arguments.outputs[i], address, bytes_[i], CopyKind::kDeviceToDevice, arguments.stream);
      address = arguments.outputs[i];
    }
    return addresses_.data();
  }

 private:
  std::vector<int64_t> aliases_;
  std::vector<void*> addresses_;
  std::vector<uint64_t> bytes_;  // per output; 0 where it shares nothing
};

}  // namespace tenon::runtime
