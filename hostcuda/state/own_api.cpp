// The functions that libnvinfer and the facades call: the same runtime without its tables.
#include <atomic>
#include <string>
#include <unordered_map>

#include "capture.h"
#include "memory.h"
#include "mode.h"
#include "table.h"

namespace tenon::hostcuda {
namespace {

using Table = std::unordered_map<std::string, void*>;

Table buildTable(int major) {
  Table table;
  for (const Entries& entries :
       {captureEntries(), copyEntries(), deviceEntries(), errorEntries(), eventEntries(), graphEntries(),
        graphExecEntries(), graphNodeEntries(), kernelEntries(), memoryEntries(), poolEntries(), streamEntries()}) {
    for (const Entry& entry : entries) {
      if (entry.firstMajor <= major && major <= entry.lastMajor) table.emplace(entry.name, entry.function);
    }
  }
  return table;
}

// Made by whoever asks first, without a lock: a fork at that moment would leave it held in the child.
const Table& tableOf(int major) {
  static std::atomic<const Table*> tables[2];
  auto& place = tables[major == 12 ? 0 : 1];
  if (const Table* found = place.load(std::memory_order_acquire)) return *found;
  const auto* made = new Table(buildTable(major));
  const Table* other = nullptr;
  if (place.compare_exchange_strong(other, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *other;
}

// A host function of the table, called by name: one implementation of each thing.
template <class... Args>
int call(void* function, Args... args) {
  return static_cast<int>(reinterpret_cast<cudaError_t (*)(Args...)>(function)(args...));
}

}  // namespace
}  // namespace tenon::hostcuda

using namespace tenon::hostcuda;

// Looked up once, or at the same time by several.
#define TENON_HOST_FUNCTION(name)                           \
  ([] {                                                     \
    static std::atomic<void*> known;                        \
    void* function = known.load(std::memory_order_relaxed); \
    if (function == nullptr) {                              \
      function = tenon_hostcuda_symbol(name, 13);           \
      known.store(function, std::memory_order_relaxed);     \
    }                                                       \
    return function;                                        \
  }())

extern "C" {

#pragma GCC visibility push(default)

void* tenon_hostcuda_symbol(const char* name, int major) {
  const Table& table = tableOf(major);
  const auto found = table.find(name);
  return found != table.end() ? found->second : nullptr;
}

size_t tenon_hostcuda_symbol_count(int major) { return tableOf(major).size(); }
int tenon_hostcuda_unsupported() { return report(cudaErrorNotSupported); }
int tenon_hostcuda_no_device() { return report(cudaErrorNoDevice); }
int tenon_hostcuda_no_device_count(int* count) {
  if (count != nullptr) *count = 0;
  return report(cudaErrorNoDevice);
}
int tenon_hostcuda_no_runtime() { return report(cudaErrorSharedObjectInitFailed); }
int tenon_hostcuda_driver_present() { return driverPresent() ? 1 : 0; }
int tenon_hostcuda_mode() { return static_cast<int>(currentMode()); }

int tenon_hostcuda_enqueue(CUstream_st* handle, void (*work)(void*), void* arg, void (*release)(void*), int kind) {
  auto task = std::shared_ptr<Task>();
  const cudaError_t error = guarded([&] {
    require(work != nullptr);
    require(kind == static_cast<int>(Kind::kOwn) || kind == static_cast<int>(Kind::kUser));
    Scheduler::refuseInsideUserCode();
    Lock lock = Scheduler::instance().lock();
    const StreamPtr stream = Scheduler::instance().stream(handle);
    if (stream->capture == nullptr) refuseImplicitDependency(stream);
    require(stream->capture == nullptr || !stream->capture->isInvalidated, cudaErrorStreamCaptureInvalidated);
    task = std::make_shared<Task>();
    task->run = work;
    task->arg = arg;
    task->release = release;
    task->isUser = kind == static_cast<int>(Kind::kUser);
    // The stream is the only holder from here on, so that the argument goes back as soon as the work is done.
    put(lock, stream, OwnCall{std::move(task)});
  });
  if (error != cudaSuccess && task != nullptr) task->release = nullptr;
  return error;
}

int tenon_hostcuda_stream_is_capturing(CUstream_st* handle, int* capturing) {
  return guarded([&] {
    require(capturing != nullptr);
    const Lock lock = Scheduler::instance().lock();
    *capturing = Scheduler::instance().stream(handle)->capture != nullptr ? 1 : 0;
  });
}

int tenon_hostcuda_stream_synchronize(CUstream_st* stream) {
  return call(TENON_HOST_FUNCTION("cudaStreamSynchronize"), stream);
}
int tenon_hostcuda_stream_query(CUstream_st* stream) { return call(TENON_HOST_FUNCTION("cudaStreamQuery"), stream); }
int tenon_hostcuda_stream_wait_event(CUstream_st* stream, CUevent_st* event) {
  return call(TENON_HOST_FUNCTION("cudaStreamWaitEvent"), stream, event, 0U);
}
int tenon_hostcuda_stream_create(CUstream_st** stream, unsigned flags) {
  return call(TENON_HOST_FUNCTION("cudaStreamCreateWithFlags"), stream, flags);
}
int tenon_hostcuda_stream_destroy(CUstream_st* stream) {
  return call(TENON_HOST_FUNCTION("cudaStreamDestroy"), stream);
}
int tenon_hostcuda_event_create(CUevent_st** event, unsigned flags) {
  return call(TENON_HOST_FUNCTION("cudaEventCreateWithFlags"), event, flags);
}
int tenon_hostcuda_event_destroy(CUevent_st* event) { return call(TENON_HOST_FUNCTION("cudaEventDestroy"), event); }
int tenon_hostcuda_event_record(CUevent_st* event, CUstream_st* stream) {
  return call(TENON_HOST_FUNCTION("cudaEventRecord"), event, stream);
}
int tenon_hostcuda_event_query(CUevent_st* event) { return call(TENON_HOST_FUNCTION("cudaEventQuery"), event); }
int tenon_hostcuda_event_synchronize(CUevent_st* event) {
  return call(TENON_HOST_FUNCTION("cudaEventSynchronize"), event);
}
int tenon_hostcuda_event_elapsed(float* milliseconds, CUevent_st* start, CUevent_st* end) {
  return call(TENON_HOST_FUNCTION("cudaEventElapsedTime"), milliseconds, start, end);
}

// Without the refusal during capture: the engine's own allocations are not the program's.
int tenon_hostcuda_malloc(void** pointer, size_t size) {
  return guarded([&] {
    require(pointer != nullptr);
    *pointer = size == 0 ? nullptr : MemoryRegistry::instance().allocate(size, Origin::kMalloc);
  });
}

int tenon_hostcuda_free(void* pointer) {
  return guarded([&] {
    if (pointer == nullptr) return;
    {
      Lock lock = Scheduler::instance().lock();
      Scheduler::instance().synchronizeAll(lock);
    }
    MemoryRegistry::instance().release(pointer, Origin::kMalloc);
  });
}

int tenon_hostcuda_memcpy_async(void* destination, const void* source, size_t size, CUstream_st* stream) {
  return call(TENON_HOST_FUNCTION("cudaMemcpyAsync"), destination, source, size, cudaMemcpyDefault, stream);
}
int tenon_hostcuda_memset_async(void* pointer, int value, size_t size, CUstream_st* stream) {
  return call(TENON_HOST_FUNCTION("cudaMemsetAsync"), pointer, value, size, stream);
}

int tenon_hostcuda_pointer_info(const void* pointer, int* kind, void** base, size_t* size) {
  return guarded([&] {
    require(kind != nullptr && base != nullptr && size != nullptr);
    Allocation found;
    const bool isKnown = MemoryRegistry::instance().find(pointer, found);
    *kind = static_cast<int>(isKnown ? found.type() : cudaMemoryTypeUnregistered);
    *base = reinterpret_cast<void*>(found.base);
    *size = found.size;
  });
}

int tenon_hostcuda_memory_info(size_t* free, size_t* total) {
  return call(TENON_HOST_FUNCTION("cudaMemGetInfo"), free, total);
}

#pragma GCC visibility pop

}  // extern "C"
