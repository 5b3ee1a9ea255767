// Streams: creation, questions, waiting, and functions of the user.
#include "capture.h"
#include "table.h"

namespace tenon::hostcuda {
namespace api {
namespace {

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

// Runs the body with the lock and the resolved stream.
template <class Body>
cudaError_t withStream(cudaStream_t handle, Body&& body) {
  return guarded([&] {
    Scheduler& scheduler = Scheduler::instance();
    Lock lock = scheduler.lock();
    const StreamPtr stream = scheduler.stream(handle);
    body(scheduler, lock, stream);
  });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return guarded([&] {
    require(stream != nullptr);
    Scheduler& scheduler = Scheduler::instance();
    const Lock lock = scheduler.lock();
    const int clamped = std::min(std::max(priority, kGreatestPriority), kLeastPriority);
    *stream = scheduler.createStream(flags, clamped)->handle();
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return api::cudaStreamCreateWithPriority(stream, flags, kLeastPriority);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return api::cudaStreamCreateWithPriority(stream, cudaStreamDefault, kLeastPriority);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  std::shared_ptr<Graph> dropped;  // after the lock
  return guarded([&] {
    Scheduler& scheduler = Scheduler::instance();
    const Lock lock = scheduler.lock();
    require(handle != nullptr && handle != cudaStreamLegacy && handle != cudaStreamPerThread,
            cudaErrorInvalidResourceHandle);
    dropped = abandonCapture(scheduler.stream(handle));
    scheduler.destroyStream(handle);
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return withStream(handle, [&](Scheduler&, Lock&, const StreamPtr& stream) {
    require(priority != nullptr);
    *priority = stream->priority;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  return withStream(handle, [&](Scheduler&, Lock&, const StreamPtr& stream) {
    require(flags != nullptr);
    *flags = stream->flags;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return withStream(handle, [&](Scheduler&, Lock&, const StreamPtr& stream) {
    require(id != nullptr);
    *id = stream->id;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return withStream(handle, [&](Scheduler&, Lock&, const StreamPtr&) {
    require(device != nullptr);
    *device = 0;
  });
}

// The attributes advise a GPU; here there is nothing that they could change, but the priority.
cudaError_t cudaStreamCopyAttributes(cudaStream_t destination, cudaStream_t source) {
  return withStream(destination, [&](Scheduler& scheduler, Lock&, const StreamPtr& stream) {
    stream->priority = scheduler.stream(source)->priority;
  });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute, cudaStreamAttrValue* value) {
  return withStream(handle, [&](Scheduler&, Lock&, const StreamPtr& stream) {
    require(value != nullptr);
    *value = cudaStreamAttrValue{};
    if (attribute == cudaLaunchAttributePriority) value->priority = stream->priority;
    if (attribute == cudaLaunchAttributeSynchronizationPolicy) value->syncPolicy = cudaSyncPolicyAuto;
  });
}

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute, const cudaStreamAttrValue* value) {
  return withStream(handle, [&](Scheduler&, Lock&, const StreamPtr& stream) {
    require(value != nullptr);
    if (attribute == cudaLaunchAttributePriority) stream->priority = value->priority;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return withStream(handle, [](Scheduler& scheduler, Lock& lock, const StreamPtr& stream) {
    refuseCapturing(stream);
    scheduler.synchronize(lock, stream);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return withStream(handle, [](Scheduler& scheduler, Lock&, const StreamPtr& stream) {
    refuseCapturing(stream);
    require(scheduler.isComplete(stream), cudaErrorNotReady);
  });
}

cudaError_t cudaDeviceSynchronize() {
  return guarded([] {
    Scheduler& scheduler = Scheduler::instance();
    Lock lock = scheduler.lock();
    refuseDuringCapture();
    scheduler.synchronizeAll(lock);
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* userData) {
  return withStream(handle, [&](Scheduler&, Lock& lock, const StreamPtr& stream) {
    require(function != nullptr);
    put(lock, stream, HostCall{{function, userData}});
  });
}

struct CallbackArg {
  cudaStreamCallback_t callback;
  cudaStream_t stream;
  void* userData;
};

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* userData,
                                  unsigned int flags) {
  return withStream(handle, [&](Scheduler&, Lock& lock, const StreamPtr& stream) {
    require(callback != nullptr && flags == 0);
    refuseCapturing(stream);
    auto task = std::make_shared<Task>();
    task->arg = new CallbackArg{callback, handle, userData};
    task->isUser = true;
    task->run = [](void* arg) {
      const auto* call = static_cast<CallbackArg*>(arg);
      call->callback(call->stream, cudaSuccess, call->userData);
    };
    task->release = [](void* arg) { delete static_cast<CallbackArg*>(arg); };
    put(lock, stream, OwnCall{std::move(task)});
  });
}

// Which stream may touch managed memory has no meaning where there is one memory.
cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void* pointer, size_t, unsigned int flags) {
  return withStream(handle, [&](Scheduler&, Lock&, const StreamPtr&) {
    require(pointer != nullptr);
    require(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle);
  });
}

}  // namespace
}  // namespace api

Entries streamEntries() {
  return {TENON_ENTRY(cudaStreamCreate),
          TENON_ENTRY(cudaStreamCreateWithFlags),
          TENON_ENTRY(cudaStreamCreateWithPriority),
          TENON_ENTRY(cudaStreamDestroy),
          TENON_ENTRY(cudaDeviceGetStreamPriorityRange),
          TENON_ENTRY(cudaDeviceSynchronize),
          TENON_ENTRY_AS("cudaThreadSynchronize", cudaDeviceSynchronize, 12, 12),
          TENON_STREAM_ENTRY(cudaStreamGetPriority),
          TENON_STREAM_ENTRY(cudaStreamGetFlags),
          TENON_STREAM_ENTRY(cudaStreamGetId),
          TENON_STREAM_ENTRY(cudaStreamGetDevice),
          TENON_STREAM_ENTRY(cudaStreamCopyAttributes),
          TENON_STREAM_ENTRY(cudaStreamGetAttribute),
          TENON_STREAM_ENTRY(cudaStreamSetAttribute),
          TENON_STREAM_ENTRY(cudaStreamSynchronize),
          TENON_STREAM_ENTRY(cudaStreamQuery),
          TENON_STREAM_ENTRY(cudaLaunchHostFunc),
          TENON_STREAM_ENTRY(cudaStreamAddCallback),
          TENON_STREAM_ENTRY(cudaStreamAttachMemAsync)};
}

}  // namespace tenon::hostcuda
