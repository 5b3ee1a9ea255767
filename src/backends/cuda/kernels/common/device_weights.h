// Constants laid out again for kernels that want another order, on the device; equal ones are kept once per process.
#pragma once

#include <memory>

#include "core/dims.h"

namespace tenon::backends::cuda {

// Memory of the device, owned.
class DeviceBytes {
 public:
  DeviceBytes(const void* host, size_t bytes);  // copied; done when the constructor returns
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
};

// Weights [K,C,spatial...] with axis 1 stored innermost.
std::shared_ptr<const DeviceBytes> channelsLastWeights(const TensorView& weights);

}  // namespace tenon::backends::cuda
