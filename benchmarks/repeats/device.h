// Memory and streams of the device, and tensors with random values.
#pragma once

#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace repeats {

namespace nv = nvinfer1;

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(2);
}

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(std::string(what) + ": CUDA error " + std::to_string(error));
}

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) { check(cudaMalloc(&data_, std::max<size_t>(bytes, 1)), "cudaMalloc"); }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

struct Tensor {
  std::string name;
  nv::DataType type;
  size_t bytes;
};

inline size_t bitsOf(nv::DataType type) {
  switch (type) {
    case nv::DataType::kINT64: return 64;
    case nv::DataType::kFLOAT:
    case nv::DataType::kINT32: return 32;
    case nv::DataType::kHALF:
    case nv::DataType::kBF16: return 16;
    default: return 8;
  }
}

// Floating numbers in [-1, 1); integers 0 and 1, which are words, marks and truth values alike.
inline std::vector<char> randomValues(const Tensor& tensor, std::mt19937_64& random) {
  std::vector<char> bytes(tensor.bytes);
  const size_t size = bitsOf(tensor.type) / 8;
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    const uint64_t draw = random();
    const float real = static_cast<float>(draw >> 40) * 0x1p-23F - 1;
    uint32_t word = 0;
    std::memcpy(&word, &real, sizeof(word));
    uint64_t value = draw & 1;
    if (tensor.type == nv::DataType::kFLOAT) value = word;
    if (tensor.type == nv::DataType::kBF16) value = word >> 16;
    // A half with the sign and the upper bits of a fraction, of size 2^-7 to 1.
    if (tensor.type == nv::DataType::kHALF) value = (draw & 0x8000) | (0x2000 + draw % 0x1C00);
    std::memcpy(bytes.data() + at, &value, size);
  }
  return bytes;
}

inline bool isFinite(const Tensor& tensor, const std::vector<char>& bytes) {
  if (tensor.type != nv::DataType::kFLOAT) return true;
  for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace repeats
