// What libnvinfer uses of the host runtime: ordered work on streams, events, memory, and which device is in use.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;
struct CUevent_st;

namespace tenon::hostcuda {

using StreamHandle = CUstream_st*;  // cudaStream_t: 0 or 1 is the legacy default stream, 2 the calling thread's own
using EventHandle = CUevent_st*;    // cudaEvent_t
using Work = void (*)(void* arg);
using Release = void (*)(void* arg);

// Values of cudaError_t; any other value of it may come back too.
enum class Status : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidResourceHandle = 400,
  kNotReady = 600,
  kNotPermitted = 800,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
};

enum class Kind : int {
  kOwn = 0,   // Tenon's work: may run inside enqueue() when nothing stands before it in the stream
  kUser = 1,  // a function of the user: never runs inside enqueue()
};

// Where the process computes. Decided once, at the first question: TENON_DEVICE=cpu|cuda, else whether a GPU answers.
enum class Mode : int {
  kHost = 0,      // on this machine's processors; our libcudart works on host memory
  kCuda = 1,      // on a GPU; our libcudart forwards to NVIDIA's, and the functions below are not for use
  kNoDevice = 2,  // TENON_DEVICE=cuda without a GPU: every call of our libcudart returns cudaErrorNoDevice
};

enum class MemoryKind : int { kUnregistered = 0, kHost = 1, kDevice = 2, kManaged = 3 };

struct PointerInfo {
  MemoryKind kind = MemoryKind::kUnregistered;
  void* base = nullptr;  // of the allocation or registration that holds the pointer
  size_t size = 0;       // bytes of it
};

}  // namespace tenon::hostcuda

extern "C" {
int tenon_hostcuda_mode();
int tenon_hostcuda_enqueue(CUstream_st* stream, void (*work)(void*), void* arg, void (*release)(void*), int kind);
int tenon_hostcuda_stream_is_capturing(CUstream_st* stream, int* capturing);
int tenon_hostcuda_stream_synchronize(CUstream_st* stream);
int tenon_hostcuda_stream_query(CUstream_st* stream);
int tenon_hostcuda_stream_wait_event(CUstream_st* stream, CUevent_st* event);
int tenon_hostcuda_stream_create(CUstream_st** stream, unsigned flags);
int tenon_hostcuda_stream_destroy(CUstream_st* stream);
int tenon_hostcuda_event_create(CUevent_st** event, unsigned flags);
int tenon_hostcuda_event_destroy(CUevent_st* event);
int tenon_hostcuda_event_record(CUevent_st* event, CUstream_st* stream);
int tenon_hostcuda_event_query(CUevent_st* event);
int tenon_hostcuda_event_synchronize(CUevent_st* event);
int tenon_hostcuda_event_elapsed(float* milliseconds, CUevent_st* start, CUevent_st* end);
int tenon_hostcuda_malloc(void** pointer, size_t size);
int tenon_hostcuda_free(void* pointer);
int tenon_hostcuda_memcpy_async(void* destination, const void* source, size_t size, CUstream_st* stream);
int tenon_hostcuda_memset_async(void* pointer, int value, size_t size, CUstream_st* stream);
int tenon_hostcuda_pointer_info(const void* pointer, int* kind, void** base, size_t* size);
int tenon_hostcuda_memory_info(size_t* free, size_t* total);
// For our libcudart only: the host function behind a runtime symbol of CUDA `major`, or null; the functions that
// answer for symbols without one; whether a driver library is there, without starting it.
void* tenon_hostcuda_symbol(const char* name, int major);
size_t tenon_hostcuda_symbol_count(int major);
int tenon_hostcuda_unsupported();
int tenon_hostcuda_no_device();
int tenon_hostcuda_no_device_count(int* count);
int tenon_hostcuda_no_runtime();
int tenon_hostcuda_driver_present();
}

namespace tenon::hostcuda {

inline Mode mode() {
  return static_cast<Mode>(tenon_hostcuda_mode());
}
inline bool isHostMode() {
  return mode() == Mode::kHost;
}

// Puts work(arg) at the end of the stream; release(arg), if given, is called once when arg is no longer needed.
// While the stream captures, the work becomes a node of the captured graph, runs at each launch, and arg is released
// with the graph and the last graph made from it. On an error nothing is kept and release is not called.
// From inside running kOwn work of the same stream, the new work runs at once: that is its place in the stream.
inline Status enqueue(StreamHandle stream, Work work, void* arg, Release release, Kind kind) {
  return static_cast<Status>(tenon_hostcuda_enqueue(stream, work, arg, release, static_cast<int>(kind)));
}

// False for a stream that does not exist.
inline bool isCapturing(StreamHandle stream) {
  int capturing = 0;
  return tenon_hostcuda_stream_is_capturing(stream, &capturing) == 0 && capturing != 0;
}

// Waits until all work put in the stream so far is done, and runs it in the calling thread where it can.
inline Status streamSynchronize(StreamHandle stream) {
  return static_cast<Status>(tenon_hostcuda_stream_synchronize(stream));
}
// kSuccess when all work is done, else kNotReady.
inline Status streamQuery(StreamHandle stream) {
  return static_cast<Status>(tenon_hostcuda_stream_query(stream));
}
inline Status streamWaitEvent(StreamHandle stream, EventHandle event) {
  return static_cast<Status>(tenon_hostcuda_stream_wait_event(stream, event));
}
// Flags are those of cudaStreamCreateWithFlags and cudaEventCreateWithFlags.
inline Status streamCreate(StreamHandle* stream, unsigned flags = 0) {
  return static_cast<Status>(tenon_hostcuda_stream_create(stream, flags));
}
inline Status streamDestroy(StreamHandle stream) {
  return static_cast<Status>(tenon_hostcuda_stream_destroy(stream));
}

inline Status eventCreate(EventHandle* event, unsigned flags = 0) {
  return static_cast<Status>(tenon_hostcuda_event_create(event, flags));
}
inline Status eventDestroy(EventHandle event) {
  return static_cast<Status>(tenon_hostcuda_event_destroy(event));
}
inline Status eventRecord(EventHandle event, StreamHandle stream) {
  return static_cast<Status>(tenon_hostcuda_event_record(event, stream));
}
// kSuccess when the recorded point is reached or nothing was recorded, else kNotReady.
inline Status eventQuery(EventHandle event) {
  return static_cast<Status>(tenon_hostcuda_event_query(event));
}
inline Status eventSynchronize(EventHandle event) {
  return static_cast<Status>(tenon_hostcuda_event_synchronize(event));
}
inline Status eventElapsed(float* milliseconds, EventHandle start, EventHandle end) {
  return static_cast<Status>(tenon_hostcuda_event_elapsed(milliseconds, start, end));
}

// Device memory, aligned to 512 bytes (to 2 MiB from 4 MiB on). A size of 0 gives a null pointer.
inline Status malloc(void** pointer, size_t size) {
  return static_cast<Status>(tenon_hostcuda_malloc(pointer, size));
}
// Waits for all streams first, as cudaFree does.
inline Status free(void* pointer) {
  return static_cast<Status>(tenon_hostcuda_free(pointer));
}
inline Status memcpyAsync(void* destination, const void* source, size_t size, StreamHandle stream) {
  return static_cast<Status>(tenon_hostcuda_memcpy_async(destination, source, size, stream));
}
inline Status memsetAsync(void* pointer, int value, size_t size, StreamHandle stream) {
  return static_cast<Status>(tenon_hostcuda_memset_async(pointer, value, size, stream));
}

inline PointerInfo pointerInfo(const void* pointer) {
  PointerInfo info;
  int kind = 0;
  if (tenon_hostcuda_pointer_info(pointer, &kind, &info.base, &info.size) == 0) {
    info.kind = static_cast<MemoryKind>(kind);
  }
  return info;
}
// Bytes: what may still be allocated, and the size of the device's memory.
inline Status memoryInfo(size_t* free, size_t* total) {
  return static_cast<Status>(tenon_hostcuda_memory_info(free, total));
}

}  // namespace tenon::hostcuda
