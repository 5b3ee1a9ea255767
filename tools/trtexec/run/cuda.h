// The CUDA runtime API with errors as exceptions and handles that release themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>

namespace tenon::trtexec {

//! Throws a Failure that says what was tried and what CUDA answered.
void checkCuda(cudaError_t status, std::string_view what);

struct CudaDeleter {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};

template <typename Handle>
using CudaHandle = std::unique_ptr<std::remove_pointer_t<Handle>, CudaDeleter>;
using Stream = CudaHandle<cudaStream_t>;
using Event = CudaHandle<cudaEvent_t>;
using GraphExec = CudaHandle<cudaGraphExec_t>;

Stream makeStream();
//! A spinning event costs a processor while it is waited for, a blocking one some delay.
Event makeEvent(bool spin);

//! Milliseconds from one recorded event to another.
float elapsedMs(cudaEvent_t from, cudaEvent_t to);

enum class MemoryKind { kDevice, kHost, kManaged };

struct MemoryDeleter {
  MemoryKind kind = MemoryKind::kDevice;
  void operator()(void* memory) const;
};

//! Memory of one kind; never null, even for zero bytes, as the API demands.
class Memory {
 public:
  Memory() = default;
  Memory(MemoryKind kind, size_t bytes);

  void* get() const { return memory_.get(); }
  char* bytes() const { return static_cast<char*>(memory_.get()); }

 private:
  std::unique_ptr<void, MemoryDeleter> memory_;
};

//! Makes the device current and prints what it is.
void selectDevice(int device);

//! Whether the current device is no GPU but the machine's processors, behind the same interface.
bool computesOnHost();

}  // namespace tenon::trtexec
