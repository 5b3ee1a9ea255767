// SPDX-License-Identifier: Apache-2.0
// Memory that the host and the device of a test both see, so that one test runs on the processor and on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <new>
#include <vector>

namespace tenon::test {

// Where the suites that ask compute: on the processor, or where TENON_TEST_DEVICE says. Before the first call of CUDA.
inline void chooseTestDevice() {
  const char* const wanted = std::getenv("TENON_TEST_DEVICE");
  setenv("TENON_DEVICE", wanted != nullptr ? wanted : "cpu", 1);
}

template <typename T>
struct SharedAllocator {
  using value_type = T;
  SharedAllocator() = default;
  template <typename U>
  explicit SharedAllocator(const SharedAllocator<U>&) {}
  T* allocate(size_t count) {
    void* memory = nullptr;
    if (cudaMallocManaged(&memory, count * sizeof(T), cudaMemAttachGlobal) != cudaSuccess) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) noexcept { cudaFree(memory); }
  bool operator==(const SharedAllocator&) const = default;
};

template <typename T>
using SharedVector = std::vector<T, SharedAllocator<T>>;

}  // namespace tenon::test
