// A file as the library's stream reader.
#include "plan_reader.h"

#include "files.h"

#include <cuda_runtime_api.h>

#include <algorithm>

namespace tenon::trtexec {

namespace {

bool isDeviceMemory(const void* pointer) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
    // Plain host memory is an error to older runtimes; it must not stay behind as the last error.
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeDevice;
}

}  // namespace

PlanReader::PlanReader(const std::string& path) : file_(readPlan(path)) {}

int64_t PlanReader::read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept {
  if (nbBytes < 0 || (destination == nullptr && nbBytes != 0)) {
    return -1;
  }
  const size_t count = std::min(static_cast<size_t>(nbBytes), file_.size() - at_);
  const char* from = file_.data() + at_;
  if (!isDeviceMemory(destination)) {
    std::copy_n(from, count, static_cast<char*>(destination));
  } else if (cudaMemcpyAsync(destination, from, count, cudaMemcpyHostToDevice, stream) != cudaSuccess ||
             cudaStreamSynchronize(stream) != cudaSuccess) {
    return -1;
  }
  at_ += count;
  file_.pass(at_);
  return static_cast<int64_t>(count);
}

bool PlanReader::seek(int64_t offset, nvinfer1::SeekPosition where) noexcept {
  const size_t origin = where == nvinfer1::SeekPosition::kSET   ? 0
                        : where == nvinfer1::SeekPosition::kCUR ? at_
                                                                : file_.size();
  const auto size = static_cast<int64_t>(file_.size());
  const auto start = static_cast<int64_t>(origin);
  if (offset < -start || offset > size - start) {
    return false;
  }
  at_ = static_cast<size_t>(start + offset);
  return true;
}

}  // namespace tenon::trtexec
