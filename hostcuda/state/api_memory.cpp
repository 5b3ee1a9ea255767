// Memory: allocation, registration, questions about pointers.
#include <cstring>

#include "capture.h"
#include "memory.h"
#include "table.h"

namespace tenon::hostcuda {
namespace api {
namespace {

constexpr unsigned kHostAllocFlags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
constexpr unsigned kHostRegisterFlags =
    cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
constexpr size_t kPitchAlignment = 512;

void* allocate(size_t size, Origin origin, unsigned flags = 0) {
  {
    const Lock lock = Scheduler::instance().lock();
    refuseDuringCapture();
  }
  return size == 0 ? nullptr : MemoryRegistry::instance().allocate(size, origin, flags);
}

// Freeing waits for the device, as work that still uses the memory may be queued.
void release(void* pointer, Origin origin, Origin alternative) {
  if (pointer == nullptr) return;
  Scheduler& scheduler = Scheduler::instance();
  Allocation found;
  require(MemoryRegistry::instance().find(pointer, found));
  {
    Lock lock = scheduler.lock();
    refuseDuringCapture();
    scheduler.synchronizeAll(lock);
  }
  MemoryRegistry::instance().release(pointer, origin, alternative);
}

cudaError_t cudaMalloc(void** pointer, size_t size) {
  return guarded([&] {
    require(pointer != nullptr);
    *pointer = allocate(size, Origin::kMalloc);
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned int flags) {
  return guarded([&] {
    require(pointer != nullptr && size > 0);
    require(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost);
    *pointer = allocate(size, Origin::kManaged, flags);
  });
}

cudaError_t cudaFree(void* pointer) {
  return guarded([&] {
    Allocation found;
    if (pointer != nullptr && MemoryRegistry::instance().find(pointer, found) && found.origin == Origin::kPool) {
      release(pointer, Origin::kPool, Origin::kPool);
      return;
    }
    release(pointer, Origin::kMalloc, Origin::kManaged);
  });
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int flags) {
  return guarded([&] {
    require(pointer != nullptr && (flags & ~kHostAllocFlags) == 0);
    *pointer = allocate(size, Origin::kHostAlloc, flags);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  return api::cudaHostAlloc(pointer, size, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
  return guarded([&] { release(pointer, Origin::kHostAlloc, Origin::kHostAlloc); });
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned int flags) {
  return guarded([&] {
    require((flags & ~kHostRegisterFlags) == 0);
    MemoryRegistry::instance().registerRange(pointer, size, flags);
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return guarded([&] {
    require(pointer != nullptr);
    MemoryRegistry::instance().unregisterRange(pointer);
  });
}

Allocation findHost(const void* pointer) {
  Allocation found;
  require(pointer != nullptr && MemoryRegistry::instance().find(pointer, found));
  require(found.type() == cudaMemoryTypeHost);
  return found;
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  return guarded([&] {
    require(device != nullptr && flags == 0);
    findHost(host);
    *device = host;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* pointer) {
  return guarded([&] {
    require(flags != nullptr);
    // Unified addressing: all host memory of the runtime is mapped.
    *flags = findHost(pointer).flags | cudaHostAllocMapped;
  });
}

size_t pitchOf(size_t width) {
  require(width <= ~size_t{0} - kPitchAlignment, cudaErrorMemoryAllocation);
  return (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
}

size_t product(size_t a, size_t b) {
  size_t result = 0;
  require(!__builtin_mul_overflow(a, b, &result), cudaErrorMemoryAllocation);
  return result;
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return guarded([&] {
    require(pointer != nullptr && pitch != nullptr);
    const size_t rowPitch = pitchOf(width);
    *pointer = allocate(product(rowPitch, height), Origin::kMalloc);
    *pitch = rowPitch;
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  return guarded([&] {
    require(pointer != nullptr);
    const size_t rowPitch = pitchOf(extent.width);
    void* memory = allocate(product(product(rowPitch, extent.height), extent.depth), Origin::kMalloc);
    *pointer = {memory, rowPitch, extent.width, extent.height};
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return guarded([&] {
    require(free != nullptr && total != nullptr);
    MemoryRegistry::instance().info(*free, *total);
  });
}

// The first four members, which CUDA 12 and 13 share; 13 has reserved words after them.
struct PointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

PointerAttributes attributesOf(const void* pointer) {
  void* address = const_cast<void*>(pointer);
  Allocation found;
  if (!MemoryRegistry::instance().find(pointer, found)) {
    return {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, address};
  }
  // Device memory is host memory here, but a program that asks must not learn to rely on it.
  void* host = found.type() == cudaMemoryTypeDevice ? nullptr : address;
  return {found.type(), 0, address, host};
}

cudaError_t pointerGetAttributes12(PointerAttributes* attributes, const void* pointer) {
  return guarded([&] {
    require(attributes != nullptr && pointer != nullptr);
    *attributes = attributesOf(pointer);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return guarded([&] {
    require(attributes != nullptr && pointer != nullptr);
    *attributes = cudaPointerAttributes{};
    const PointerAttributes known = attributesOf(pointer);
    attributes->type = known.type;
    attributes->device = known.device;
    attributes->devicePointer = known.devicePointer;
    attributes->hostPointer = known.hostPointer;
  });
}

void requireManaged(const void* pointer, size_t count) {
  Allocation found;
  require(pointer != nullptr && count > 0 && MemoryRegistry::instance().find(pointer, found));
  require(found.type() == cudaMemoryTypeManaged);
  MemoryRegistry::instance().checkRange(pointer, count);
}

void requireLocation(const cudaMemLocation& location) {
  require(location.type != cudaMemLocationTypeInvalid && location.type <= cudaMemLocationTypeHostNumaCurrent);
  require(location.type != cudaMemLocationTypeDevice || location.id == 0, cudaErrorInvalidDevice);
}

cudaMemLocation locationOf(int device) {
  if (device == cudaCpuDeviceId) return {cudaMemLocationTypeHost, 0};
  return {cudaMemLocationTypeDevice, device};
}

// Prefetching and advice change where pages live; there is one place.
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, cudaMemLocation location, unsigned int flags,
                                 cudaStream_t handle) {
  return guarded([&] {
    require(flags == 0);
    requireManaged(pointer, count);
    requireLocation(location);
    Lock lock = Scheduler::instance().lock();
    put(lock, Scheduler::instance().stream(handle), Nothing{});
  });
}

cudaError_t memPrefetchAsync12(const void* pointer, size_t count, int device, cudaStream_t handle) {
  return api::cudaMemPrefetchAsync(pointer, count, locationOf(device), 0, handle);
}

cudaError_t cudaMemAdvise(const void* pointer, size_t count, cudaMemoryAdvise advice, cudaMemLocation) {
  return guarded([&] {
    require(advice >= cudaMemAdviseSetReadMostly && advice <= cudaMemAdviseUnsetAccessedBy);
    requireManaged(pointer, count);
  });
}

cudaError_t memAdvise12(const void* pointer, size_t count, cudaMemoryAdvise advice, int device) {
  return api::cudaMemAdvise(pointer, count, advice, locationOf(device));
}

cudaError_t cudaMemRangeGetAttribute(void* data, size_t size, cudaMemRangeAttribute attribute, const void* pointer,
                                     size_t count) {
  return guarded([&] {
    require(data != nullptr && size >= sizeof(int) && size % sizeof(int) == 0);
    requireManaged(pointer, count);
    int value = cudaInvalidDeviceId;
    if (attribute == cudaMemRangeAttributeReadMostly) value = 0;
    if (attribute == cudaMemRangeAttributePreferredLocationType ||
        attribute == cudaMemRangeAttributeLastPrefetchLocationType) {
      value = cudaMemLocationTypeInvalid;
    }
    for (size_t i = 0; i < size / sizeof(int); ++i) {
      std::memcpy(static_cast<char*>(data) + i * sizeof(int), &value, sizeof value);
    }
  });
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* sizes, cudaMemRangeAttribute* attributes,
                                      size_t attributeCount, const void* pointer, size_t count) {
  if (data == nullptr || sizes == nullptr || attributes == nullptr) return report(cudaErrorInvalidValue);
  for (size_t i = 0; i < attributeCount; ++i) {
    const cudaError_t error = api::cudaMemRangeGetAttribute(data[i], sizes[i], attributes[i], pointer, count);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace
}  // namespace api

Entries memoryEntries() {
  return {TENON_ENTRY(cudaMalloc),
          TENON_ENTRY(cudaMallocManaged),
          TENON_ENTRY(cudaFree),
          TENON_ENTRY(cudaHostAlloc),
          TENON_ENTRY(cudaMallocHost),
          TENON_ENTRY(cudaFreeHost),
          TENON_ENTRY(cudaHostRegister),
          TENON_ENTRY(cudaHostUnregister),
          TENON_ENTRY(cudaHostGetDevicePointer),
          TENON_ENTRY(cudaHostGetFlags),
          TENON_ENTRY(cudaMallocPitch),
          TENON_ENTRY(cudaMalloc3D),
          TENON_ENTRY(cudaMemGetInfo),
          TENON_ENTRY_AS("cudaPointerGetAttributes", pointerGetAttributes12, 12, 12),
          TENON_ENTRY_AS("cudaPointerGetAttributes", cudaPointerGetAttributes, 13, 13),
          TENON_STREAM_ENTRY_AS("cudaMemPrefetchAsync", memPrefetchAsync12, 12, 12),
          TENON_STREAM_ENTRY_AS("cudaMemPrefetchAsync_v2", cudaMemPrefetchAsync, 12, 12),
          TENON_STREAM_ENTRY_AS("cudaMemPrefetchAsync", cudaMemPrefetchAsync, 13, 13),
          TENON_ENTRY_AS("cudaMemAdvise", memAdvise12, 12, 12),
          TENON_ENTRY_AS("cudaMemAdvise_v2", cudaMemAdvise, 12, 12),
          TENON_ENTRY_AS("cudaMemAdvise", cudaMemAdvise, 13, 13),
          TENON_ENTRY(cudaMemRangeGetAttribute),
          TENON_ENTRY(cudaMemRangeGetAttributes)};
}

}  // namespace tenon::hostcuda
