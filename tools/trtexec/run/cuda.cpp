// The CUDA runtime API with errors as exceptions, and the block of lines about the device.
#include "cuda.h"

#include "failure.h"
#include "log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tenon::trtexec {

namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

std::string uuidText(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    text += i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

void checkCuda(cudaError_t status, std::string_view what) {
  if (status != cudaSuccess) {
    throw Failure("{}: CUDA says {} ({})", what, cudaGetErrorName(status), cudaGetErrorString(status));
  }
}

Stream makeStream() {
  cudaStream_t stream = nullptr;
  checkCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  return Stream(stream);
}

Event makeEvent(bool spin) {
  cudaEvent_t event = nullptr;
  checkCuda(cudaEventCreateWithFlags(&event, spin ? cudaEventDefault : cudaEventBlockingSync), "making an event");
  return Event(event);
}

float elapsedMs(cudaEvent_t from, cudaEvent_t to) {
  float ms = 0;
  checkCuda(cudaEventElapsedTime(&ms, from, to), "reading the time between two events");
  return ms;
}

Memory::Memory(MemoryKind kind, size_t bytes) {
  void* memory = nullptr;
  const size_t size = std::max<size_t>(bytes, 1);
  switch (kind) {
    case MemoryKind::kDevice:
      checkCuda(cudaMalloc(&memory, size), fmt::format("allocating {} bytes on the device", size));
      break;
    case MemoryKind::kHost:
      checkCuda(cudaMallocHost(&memory, size), fmt::format("allocating {} bytes of pinned host memory", size));
      break;
    case MemoryKind::kManaged:
      checkCuda(cudaMallocManaged(&memory, size, cudaMemAttachGlobal),
                fmt::format("allocating {} bytes of managed memory", size));
      break;
  }
  memory_ = std::unique_ptr<void, MemoryDeleter>(memory, MemoryDeleter{kind});
}

void MemoryDeleter::operator()(void* memory) const {
  if (kind == MemoryKind::kHost) {
    cudaFreeHost(memory);
  } else {
    cudaFree(memory);
  }
}

void selectDevice(int device) {
  int count = 0;
  checkCuda(cudaGetDeviceCount(&count), "counting devices");
  info("=== Device Information ===");
  info("Available Devices: ");
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    checkCuda(cudaGetDeviceProperties(&properties, i), "asking for the properties of a device");
    info("  Device {}: \"{}\" UUID: {}", i, properties.name, uuidText(properties.uuid));
  }
  if (device >= count) {
    throw Failure("--device={}: this device does not exist; the devices are 0 to {}", device, count - 1);
  }
  checkCuda(cudaSetDevice(device), fmt::format("selecting device {}", device));
  cudaDeviceProp properties{};
  checkCuda(cudaGetDeviceProperties(&properties, device), "asking for the properties of the device");
  size_t freeBytes = 0;
  size_t totalBytes = 0;
  checkCuda(cudaMemGetInfo(&freeBytes, &totalBytes), "asking for the memory of the device");
  info("Selected Device: {}", properties.name);
  info("Selected Device ID: {}", device);
  info("Selected Device UUID: {}", uuidText(properties.uuid));
  info("Compute Capability: {}.{}", attribute(cudaDevAttrComputeCapabilityMajor, device),
       attribute(cudaDevAttrComputeCapabilityMinor, device));
  info("SMs: {}", attribute(cudaDevAttrMultiProcessorCount, device));
  info("Device Global Memory: {} MiB", totalBytes >> 20);
  info("Shared Memory per SM: {} KiB", attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) >> 10);
  info("Memory Bus Width: {} bits (ECC {})", attribute(cudaDevAttrGlobalMemoryBusWidth, device),
       attribute(cudaDevAttrEccEnabled, device) != 0 ? "enabled" : "disabled");
  info("Application Compute Clock Rate: {} GHz", attribute(cudaDevAttrClockRate, device) / 1e6);
  info("Application Memory Clock Rate: {} GHz", attribute(cudaDevAttrMemoryClockRate, device) / 1e6);
  if (computesOnHost()) {
    info("{}: computed on the host",
         std::getenv("TENON_DEVICE") != nullptr ? "No GPU, as TENON_DEVICE says" : "No GPU");
  }
  info("");
}

bool computesOnHost() {
  int device = 0;
  cudaDeviceProp properties{};
  checkCuda(cudaGetDevice(&device), "asking for the device");
  checkCuda(cudaGetDeviceProperties(&properties, device), "asking for the properties of the device");
  // The name that Tenon's CUDA runtime gives the processors (docs/hostcuda.md).
  return std::string_view(properties.name) == "Tenon host device";
}

}  // namespace tenon::trtexec
