// IHostMemory over bytes that it owns.
#pragma once

#include <NvInferRuntime.h>

#include <cstddef>
#include <vector>

namespace tenon::api {

namespace nv = nvinfer1;

class HostMemory final : public nv::IHostMemory, public nv::apiv::VHostMemory {
 public:
  explicit HostMemory(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) { mImpl = this; }
  void* data() const noexcept override { return const_cast<std::byte*>(bytes_.data()); }
  std::size_t size() const noexcept override { return bytes_.size(); }
  nv::DataType type() const noexcept override { return nv::DataType::kINT8; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace tenon::api
