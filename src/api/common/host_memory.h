// IHostMemory over bytes that it owns.
#pragma once

#include <NvInferRuntime.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace tenon::api {

namespace nv = nvinfer1;

class HostMemory final : public nv::IHostMemory, public nv::apiv::VHostMemory {
 public:
  // Takes over a vector of bytes, whatever its allocator.
  template <typename Bytes>
  explicit HostMemory(Bytes bytes) : size_(bytes.size()) {
    auto owner = std::make_shared<Bytes>(std::move(bytes));
    data_ = std::shared_ptr<std::byte>(owner, owner->data());
    mImpl = this;
  }
  void* data() const noexcept override { return data_.get(); }
  std::size_t size() const noexcept override { return size_; }
  nv::DataType type() const noexcept override { return nv::DataType::kINT8; }

 private:
  std::shared_ptr<std::byte> data_;
  std::size_t size_;
};

}  // namespace tenon::api
