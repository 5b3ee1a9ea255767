// Events: recording, waiting, time.
#include "capture.h"
#include "table.h"

namespace tenon::hostcuda {
namespace api {
namespace {

template <class Body>
cudaError_t withEvent(cudaEvent_t handle, Body&& body) {
  return guarded([&] {
    Scheduler& scheduler = Scheduler::instance();
    Lock lock = scheduler.lock();
    const std::shared_ptr<Event> event = scheduler.event(handle);
    body(scheduler, lock, event);
  });
}

// An event of a capture has no time and no end: asking for them breaks the capture.
void refuseCaptured(const Event& event) {
  if (event.capture == nullptr) return;
  if (event.capture->isActive) event.capture->isInvalidated = true;
  fail(cudaErrorCapturedEvent);
}

bool isDone(const Event& event) {
  return event.recording == nullptr || event.recording->done || Scheduler::reached(event.recording->point);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return guarded([&] {
    require(event != nullptr);
    Scheduler& scheduler = Scheduler::instance();
    const Lock lock = scheduler.lock();
    *event = scheduler.createEvent(flags)->handle();
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return api::cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return guarded([&] {
    Scheduler& scheduler = Scheduler::instance();
    const Lock lock = scheduler.lock();
    scheduler.destroyEvent(handle);
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t streamHandle, unsigned int flags) {
  return withEvent(handle, [&](Scheduler& scheduler, Lock& lock, const std::shared_ptr<Event>& event) {
    require((flags & ~static_cast<unsigned>(cudaEventRecordExternal)) == 0);
    putRecord(lock, scheduler.stream(streamHandle), event, flags != 0);
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return api::cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t streamHandle, cudaEvent_t handle, unsigned int flags) {
  return withEvent(handle, [&](Scheduler& scheduler, Lock& lock, const std::shared_ptr<Event>& event) {
    require((flags & ~static_cast<unsigned>(cudaEventWaitExternal)) == 0);
    putWait(lock, scheduler.stream(streamHandle), event, flags != 0);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return withEvent(handle, [](Scheduler&, Lock&, const std::shared_ptr<Event>& event) {
    refuseCaptured(*event);
    require(isDone(*event), cudaErrorNotReady);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return withEvent(handle, [](Scheduler& scheduler, Lock& lock, const std::shared_ptr<Event>& event) {
    refuseCaptured(*event);
    if (isDone(*event)) return;
    const Point point = event->recording->point;
    scheduler.drain(lock, point);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t startHandle, cudaEvent_t endHandle) {
  return withEvent(startHandle, [&](Scheduler& scheduler, Lock&, const std::shared_ptr<Event>& start) {
    require(milliseconds != nullptr);
    const std::shared_ptr<Event> end = scheduler.event(endHandle);
    for (const Event* event : {start.get(), end.get()}) {
      refuseCaptured(*event);
      require((event->flags & cudaEventDisableTiming) == 0, cudaErrorInvalidResourceHandle);
      require(event->recording != nullptr, cudaErrorInvalidResourceHandle);
    }
    require(start->recording->done && end->recording->done, cudaErrorNotReady);
    *milliseconds = std::chrono::duration<float, std::milli>(end->recording->time - start->recording->time).count();
  });
}

}  // namespace
}  // namespace api

Entries eventEntries() {
  return {TENON_ENTRY(cudaEventCreate),
          TENON_ENTRY(cudaEventCreateWithFlags),
          TENON_ENTRY(cudaEventDestroy),
          TENON_STREAM_ENTRY(cudaEventRecord),
          TENON_STREAM_ENTRY(cudaEventRecordWithFlags),
          TENON_STREAM_ENTRY(cudaStreamWaitEvent),
          TENON_ENTRY(cudaEventQuery),
          TENON_ENTRY(cudaEventSynchronize),
          TENON_ENTRY(cudaEventElapsedTime),
          TENON_ENTRY_AS("cudaEventElapsedTime_v2", cudaEventElapsedTime, 12, 12)};
}

}  // namespace tenon::hostcuda
