// The user's objects (allocators, readers, listeners) in the form that the runtime takes.
#pragma once

#include <NvInferRuntime.h>

#include "api/common/convert.h"
#include "runtime/hooks.h"

namespace tenon::api {

class GpuAllocatorAdapter final : public runtime::AllocatorHook {
 public:
  explicit GpuAllocatorAdapter(nv::IGpuAllocator& allocator) : allocator_(allocator) {}
  void* allocate(size_t bytes, size_t alignment, runtime::StreamHandle stream) override {
    return allocator_.allocateAsync(bytes, alignment, 0, static_cast<cudaStream_t>(stream));
  }
  void free(void* pointer, runtime::StreamHandle stream) noexcept override {
    allocator_.deallocateAsync(pointer, static_cast<cudaStream_t>(stream));
  }

 private:
  nv::IGpuAllocator& allocator_;
};

class StreamReaderAdapter final : public runtime::StreamReader {
 public:
  explicit StreamReaderAdapter(nv::IStreamReader& reader) : reader_(reader) {}
  size_t read(void* to, size_t bytes) override {
    const int64_t got = reader_.read(to, static_cast<int64_t>(bytes));
    checkUser(got >= 0, "the stream reader failed: asked for {} bytes, it returned {}", bytes, got);
    return static_cast<size_t>(got);
  }

 private:
  nv::IStreamReader& reader_;
};

class StreamReaderV2Adapter final : public runtime::StreamReader {
 public:
  explicit StreamReaderV2Adapter(nv::IStreamReaderV2& reader) : reader_(reader) {}
  size_t read(void* to, size_t bytes) override {
    const int64_t got = reader_.read(to, static_cast<int64_t>(bytes), nullptr);
    checkUser(got >= 0, "the stream reader failed: asked for {} bytes, it returned {}", bytes, got);
    return static_cast<size_t>(got);
  }

 private:
  nv::IStreamReaderV2& reader_;
};

class OutputAllocatorAdapter final : public runtime::OutputAllocatorHook {
 public:
  explicit OutputAllocatorAdapter(nv::IOutputAllocator& allocator) : allocator_(allocator) {}
  void* reallocate(const std::string& tensor, void* current, uint64_t bytes, uint64_t alignment,
                   runtime::StreamHandle stream) override {
    return allocator_.reallocateOutputAsync(tensor.c_str(), current, bytes, alignment,
                                            static_cast<cudaStream_t>(stream));
  }
  void notifyShape(const std::string& tensor, const Dims& dims) override {
    allocator_.notifyShape(tensor.c_str(), toApi(dims));
  }
  nv::IOutputAllocator* user() const noexcept { return &allocator_; }

 private:
  nv::IOutputAllocator& allocator_;
};

class ProfilerAdapter final : public runtime::ProfilerHook {
 public:
  explicit ProfilerAdapter(nv::IProfiler& profiler) : profiler_(profiler) {}
  void report(const std::string& layer, float milliseconds) override {
    profiler_.reportLayerTime(layer.c_str(), milliseconds);
  }

 private:
  nv::IProfiler& profiler_;
};

class DebugAdapter final : public runtime::DebugHook {
 public:
  explicit DebugAdapter(nv::IDebugListener& listener) : listener_(listener) {}
  void process(const std::string& tensor, const void* address, bool onHost, DataType dtype, const Dims& dims,
               runtime::StreamHandle stream) override {
    const auto location = onHost ? nv::TensorLocation::kHOST : nv::TensorLocation::kDEVICE;
    listener_.processDebugTensor(address, location, toApi(dtype), toApi(dims), tensor.c_str(),
                                 static_cast<cudaStream_t>(stream));
  }

 private:
  nv::IDebugListener& listener_;
};

}  // namespace tenon::api
