// A file behind the library's stream reader interface.
#include "plan_reader.h"

#include "failure.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

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

} // namespace

PlanReader::PlanReader(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
  if (file_ == nullptr) {
    throw Failure("cannot open the file '{}' (engine): {}", path, std::strerror(errno));
  }
}

PlanReader::~PlanReader() noexcept { std::fclose(file_); }

int64_t PlanReader::read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept {
  if (nbBytes < 0 || (destination == nullptr && nbBytes != 0)) {
    return -1;
  }
  const auto wanted = static_cast<size_t>(nbBytes);
  if (!isDeviceMemory(destination)) {
    const size_t count = std::fread(destination, 1, wanted, file_);
    return std::ferror(file_) != 0 ? -1 : static_cast<int64_t>(count);
  }
  constexpr size_t kStep = size_t{8} << 20;
  try {
    std::vector<char> staging(std::min(kStep, wanted));
    size_t done = 0;
    while (done < wanted) {
      const size_t count = std::fread(staging.data(), 1, std::min(kStep, wanted - done), file_);
      if (count == 0) {
        break;
      }
      void* target = static_cast<char*>(destination) + done;
      if (cudaMemcpyAsync(target, staging.data(), count, cudaMemcpyHostToDevice, stream) != cudaSuccess ||
          cudaStreamSynchronize(stream) != cudaSuccess) {
        return -1;
      }
      done += count;
    }
    return std::ferror(file_) != 0 ? -1 : static_cast<int64_t>(done);
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

bool PlanReader::seek(int64_t offset, nvinfer1::SeekPosition where) noexcept {
  const int origin = where == nvinfer1::SeekPosition::kSET   ? SEEK_SET
                     : where == nvinfer1::SeekPosition::kCUR ? SEEK_CUR
                                                             : SEEK_END;
  return fseeko(file_, offset, origin) == 0;
}

} // namespace tenon::trtexec
