// SPDX-License-Identifier: Apache-2.0
// Operands of an enqueue() where the host reads and writes them: as they are where they lie in the host's memory, in
// copies where they lie on a device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

// A program that has no CUDA runtime has memory of the host alone.
#pragma weak cudaPointerGetAttributes
#pragma weak cudaMemcpyAsync
#pragma weak cudaStreamSynchronize

namespace library {

class OnHost {
 public:
  explicit OnHost(cudaStream_t stream) : stream_(stream) {}
  ~OnHost() {
    for (const auto& copy : copies_) {
      if (copy.to != nullptr) cudaMemcpyAsync(copy.to, copy.bytes.get(), copy.size, cudaMemcpyDefault, stream_);
    }
    if (!copies_.empty()) cudaStreamSynchronize(stream_);
  }
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;

  template <typename T>
  const T* read(const void* operand, int64_t count) {
    if (isOfHost(operand)) return static_cast<const T*>(operand);
    void* const copy = add(nullptr, static_cast<size_t>(count) * sizeof(T));
    cudaMemcpyAsync(copy, operand, copies_.back().size, cudaMemcpyDefault, stream_);
    cudaStreamSynchronize(stream_);
    return static_cast<const T*>(copy);
  }
  // All `count` elements are to be written.
  template <typename T>
  T* write(void* operand, int64_t count) {
    if (isOfHost(operand)) return static_cast<T*>(operand);
    return static_cast<T*>(add(operand, static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  struct Copy {
    std::unique_ptr<std::byte[]> bytes;
    size_t size;
    void* to;  // null for what is read
  };
  static bool isOfHost(const void* operand) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes == nullptr || cudaPointerGetAttributes(&attributes, operand) != cudaSuccess)
      return true;
    return attributes.type == cudaMemoryTypeUnregistered || attributes.type == cudaMemoryTypeHost;
  }
  void* add(void* to, size_t size) {
    copies_.push_back({std::make_unique<std::byte[]>(size + 1), size, to});
    return copies_.back().bytes.get();
  }

  cudaStream_t stream_;
  std::vector<Copy> copies_;
};

}  // namespace library
