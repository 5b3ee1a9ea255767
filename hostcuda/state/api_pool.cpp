// The stream-ordered allocator and its pools.
#include <cstring>

#include "capture.h"
#include "memory.h"
#include "pool.h"
#include "table.h"

namespace tenon::hostcuda {
namespace api {
namespace {

void requireDevice(int device) { require(device == 0, cudaErrorInvalidDevice); }

// Memory is there at once: a later stream position than the program may use it from does no harm.
void* allocateAsync(size_t size, const std::shared_ptr<MemoryPool>& pool, cudaStream_t handle) {
  Scheduler& scheduler = Scheduler::instance();
  {
    Lock lock = scheduler.lock();
    const StreamPtr stream = scheduler.stream(handle);
    if (stream->capture != nullptr) {
      require(size > 0);
      auto allocation = std::make_shared<GraphAllocation>(size);
      void* pointer = allocation->pointer;
      put(lock, stream, Allocate{std::move(allocation)});
      return pointer;
    }
    refuseImplicitDependency(stream);
  }
  const size_t limit = pool->properties.maxSize;
  require(limit == 0 || size <= limit - std::min<size_t>(limit, pool->used), cudaErrorMemoryAllocation);
  return size == 0 ? nullptr : MemoryRegistry::instance().allocate(size, Origin::kPool, 0, pool);
}

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  return guarded([&] {
    require(pointer != nullptr);
    *pointer = allocateAsync(size, MemoryPools::instance().current(), stream);
  });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  return guarded([&] {
    require(pointer != nullptr);
    *pointer = allocateAsync(size, MemoryPools::instance().get(pool), stream);
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return guarded([&] {
    Scheduler& scheduler = Scheduler::instance();
    Lock lock = scheduler.lock();
    const StreamPtr stream = scheduler.stream(handle);
    if (pointer == nullptr) return;
    Allocation found;
    require(MemoryRegistry::instance().find(pointer, found));
    require(found.base == reinterpret_cast<uintptr_t>(pointer));
    if (stream->capture != nullptr) {
      put(lock, stream, Deallocate{pointer});
      return;
    }
    if (found.origin == Origin::kGraph) return;  // it goes with its graph
    refuseImplicitDependency(stream);
    Scheduler::refuseInsideUserCode();
    MemoryRegistry::instance().beginAsyncRelease(pointer);
    put(lock, stream, ReleaseMemory{pointer});
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return guarded([&] {
    require(pool != nullptr);
    requireDevice(device);
    *pool = MemoryPools::instance().defaultPool()->handle();
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return guarded([&] {
    require(pool != nullptr);
    requireDevice(device);
    *pool = MemoryPools::instance().current()->handle();
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return guarded([&] {
    requireDevice(device);
    MemoryPools::instance().setCurrent(pool);
  });
}

void requireLocation(const cudaMemLocation* location) {
  require(location != nullptr);
  if (location->type == cudaMemLocationTypeDevice) requireDevice(location->id);
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType) {
  return guarded([&] {
    requireLocation(location);
    require(pool != nullptr);
    *pool = MemoryPools::instance().defaultPool()->handle();
  });
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType) {
  return guarded([&] {
    requireLocation(location);
    require(pool != nullptr);
    *pool = MemoryPools::instance().current()->handle();
  });
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType, cudaMemPool_t pool) {
  return guarded([&] {
    requireLocation(location);
    MemoryPools::instance().setCurrent(pool);
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return guarded([&] {
    require(pool != nullptr && properties != nullptr);
    require(properties->allocType == cudaMemAllocationTypePinned ||
            properties->allocType == cudaMemAllocationTypeManaged);
    require(properties->handleTypes == cudaMemHandleTypeNone, cudaErrorNotSupported);
    requireLocation(&properties->location);
    *pool = MemoryPools::instance().create(*properties)->handle();
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return guarded([&] { MemoryPools::instance().destroy(pool); });
}

// Freed memory goes back to the system at once: a pool never keeps any.
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return guarded([&] { MemoryPools::instance().get(pool); });
}

template <class T>
T read(const void* value) {
  T result;
  std::memcpy(&result, value, sizeof result);
  return result;
}

template <class T>
void write(void* value, T content) {
  std::memcpy(value, &content, sizeof content);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return guarded([&] {
    const std::shared_ptr<MemoryPool> pool = MemoryPools::instance().get(handle);
    require(value != nullptr);
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies: pool->followEvents = read<int>(value); return;
      case cudaMemPoolReuseAllowOpportunistic: pool->allowOpportunistic = read<int>(value); return;
      case cudaMemPoolReuseAllowInternalDependencies: pool->allowInternal = read<int>(value); return;
      case cudaMemPoolAttrReleaseThreshold: pool->releaseThreshold = read<uint64_t>(value); return;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        require(read<uint64_t>(value) == 0);  // a high-water mark can only be reset
        pool->usedHigh = pool->used.load();
        return;
      default: fail(cudaErrorInvalidValue);
    }
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return guarded([&] {
    const std::shared_ptr<MemoryPool> pool = MemoryPools::instance().get(handle);
    require(value != nullptr);
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies: write(value, pool->followEvents.load()); return;
      case cudaMemPoolReuseAllowOpportunistic: write(value, pool->allowOpportunistic.load()); return;
      case cudaMemPoolReuseAllowInternalDependencies: write(value, pool->allowInternal.load()); return;
      case cudaMemPoolAttrReleaseThreshold: write(value, pool->releaseThreshold.load()); return;
      case cudaMemPoolAttrReservedMemCurrent:
      case cudaMemPoolAttrUsedMemCurrent: write(value, pool->used.load()); return;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh: write(value, pool->usedHigh.load()); return;
      default: fail(cudaErrorInvalidValue);
    }
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* descriptions, size_t count) {
  return guarded([&] {
    const std::shared_ptr<MemoryPool> pool = MemoryPools::instance().get(handle);
    require(count == 0 || descriptions != nullptr);
    for (size_t i = 0; i < count; ++i) {
      requireLocation(&descriptions[i].location);
      pool->access = descriptions[i].flags;
    }
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation* location) {
  return guarded([&] {
    const std::shared_ptr<MemoryPool> pool = MemoryPools::instance().get(handle);
    require(flags != nullptr);
    requireLocation(location);
    *flags = static_cast<cudaMemAccessFlags>(pool->access.load());
  });
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return guarded([&] { requireDevice(device); });
}

// Memory of graphs belongs to the graphs; nothing is kept apart for them.
cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType, void* value) {
  return guarded([&] {
    requireDevice(device);
    require(value != nullptr);
    write<uint64_t>(value, 0);
  });
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType, void* value) {
  return guarded([&] {
    requireDevice(device);
    require(value != nullptr && read<uint64_t>(value) == 0);
  });
}

}  // namespace
}  // namespace api

Entries poolEntries() {
  return {TENON_STREAM_ENTRY(cudaMallocAsync),
          TENON_STREAM_ENTRY(cudaMallocFromPoolAsync),
          TENON_STREAM_ENTRY(cudaFreeAsync),
          TENON_ENTRY(cudaDeviceGetDefaultMemPool),
          TENON_ENTRY(cudaDeviceGetMemPool),
          TENON_ENTRY(cudaDeviceSetMemPool),
          TENON_ENTRY_AS("cudaMemGetDefaultMemPool", cudaMemGetDefaultMemPool, 13, 13),
          TENON_ENTRY_AS("cudaMemGetMemPool", cudaMemGetMemPool, 13, 13),
          TENON_ENTRY_AS("cudaMemSetMemPool", cudaMemSetMemPool, 13, 13),
          TENON_ENTRY(cudaMemPoolCreate),
          TENON_ENTRY(cudaMemPoolDestroy),
          TENON_ENTRY(cudaMemPoolTrimTo),
          TENON_ENTRY(cudaMemPoolSetAttribute),
          TENON_ENTRY(cudaMemPoolGetAttribute),
          TENON_ENTRY(cudaMemPoolSetAccess),
          TENON_ENTRY(cudaMemPoolGetAccess),
          TENON_ENTRY(cudaDeviceGraphMemTrim),
          TENON_ENTRY(cudaDeviceGetGraphMemAttribute),
          TENON_ENTRY(cudaDeviceSetGraphMemAttribute)};
}

}  // namespace tenon::hostcuda
