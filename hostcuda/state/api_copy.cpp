// Copies and fills: synchronous ones stand in the legacy default stream and wait.
#include "capture.h"
#include "memory.h"
#include "table.h"

namespace tenon::hostcuda {
namespace api {
namespace {

void submitAsync(WorkItem item, cudaStream_t handle) {
  Lock lock = Scheduler::instance().lock();
  put(lock, Scheduler::instance().stream(handle), std::move(item));
}

void submitAndWait(WorkItem item) {
  Scheduler& scheduler = Scheduler::instance();
  Lock lock = scheduler.lock();
  refuseDuringCapture();
  const StreamPtr stream = scheduler.stream(nullptr);
  refuseCapturing(stream);
  const Point point = scheduler.submit(lock, stream, std::move(item));
  scheduler.drain(lock, point);
}

// Fills and symbols aside, every function comes as a pair: in a stream, and waited for.
template <class MakeItem>
cudaError_t inStream(cudaStream_t handle, MakeItem&& makeItem) {
  return guarded([&] { submitAsync(makeItem(), handle); });
}

template <class MakeItem>
cudaError_t waited(MakeItem&& makeItem) {
  return guarded([&] { submitAndWait(makeItem()); });
}

void requireKind(cudaMemcpyKind kind) {
  require(kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault, cudaErrorInvalidMemcpyDirection);
}

Copy checkedCopy(void* destination, const void* source, size_t count, cudaMemcpyKind kind) {
  requireKind(kind);
  MemoryRegistry::instance().checkRange(destination, count);
  MemoryRegistry::instance().checkRange(source, count);
  return linearCopy(destination, source, count, kind);
}

void requireDevices(int destination, int source) { require(destination == 0 && source == 0, cudaErrorInvalidDevice); }

Copy checkedCopy2D(void* destination, size_t destinationPitch, const void* source, size_t sourcePitch, size_t width,
                   size_t height, cudaMemcpyKind kind) {
  requireKind(kind);
  require(width <= destinationPitch && width <= sourcePitch, cudaErrorInvalidPitchValue);
  if (width > 0 && height > 0) {
    MemoryRegistry::instance().checkRange(destination, destinationPitch * (height - 1) + width);
    MemoryRegistry::instance().checkRange(source, sourcePitch * (height - 1) + width);
  }
  Copy copy{};
  copy.params.dstPtr = {destination, destinationPitch, width, height};
  copy.params.srcPtr = {const_cast<void*>(source), sourcePitch, width, height};
  copy.params.extent = {width, height, 1};
  copy.params.kind = kind;
  return copy;
}

// `pointer` with the last byte that the copy touches there.
void checkBox(const cudaPitchedPtr& pointer, const cudaPos& position, const cudaExtent& extent) {
  require(position.x + extent.width <= pointer.pitch, cudaErrorInvalidPitchValue);
  require(extent.depth <= 1 || position.y + extent.height <= pointer.ysize);
  const size_t last =
      pointer.pitch * (pointer.ysize * (position.z + extent.depth - 1) + position.y + extent.height - 1) + position.x +
      extent.width;
  MemoryRegistry::instance().checkRange(pointer.ptr, last);
}

Copy checkedCopy3D(const cudaMemcpy3DParms* params) {
  require(params != nullptr);
  requireKind(params->kind);
  require(params->srcArray == nullptr && params->dstArray == nullptr, cudaErrorNotSupported);
  const cudaExtent& extent = params->extent;
  if (extent.width > 0 && extent.height > 0 && extent.depth > 0) {
    checkBox(params->dstPtr, params->dstPos, extent);
    checkBox(params->srcPtr, params->srcPos, extent);
  }
  return Copy{*params};
}

Copy checkedPeerCopy3D(const cudaMemcpy3DPeerParms* params) {
  require(params != nullptr);
  requireDevices(params->dstDevice, params->srcDevice);
  cudaMemcpy3DParms same{params->srcArray, params->srcPos, params->srcPtr, params->dstArray,
                         params->dstPos,   params->dstPtr, params->extent, cudaMemcpyDefault};
  return checkedCopy3D(&same);
}

Fill checkedFill(void* pointer, int value, size_t count) {
  MemoryRegistry::instance().checkRange(pointer, count);
  return linearFill(pointer, value & 0xff, count);
}

Fill checkedFill2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  require(height <= 1 || width <= pitch, cudaErrorInvalidPitchValue);
  if (width > 0 && height > 0) MemoryRegistry::instance().checkRange(pointer, pitch * (height - 1) + width);
  return Fill{{pointer, pitch, static_cast<unsigned>(value & 0xff), 1, width, height}, 1, 0};
}

Fill checkedFill3D(const cudaPitchedPtr& pointer, int value, const cudaExtent& extent) {
  if (extent.width > 0 && extent.height > 0 && extent.depth > 0) checkBox(pointer, cudaPos{0, 0, 0}, extent);
  return Fill{{pointer.ptr, pointer.pitch, static_cast<unsigned>(value & 0xff), 1, extent.width, extent.height},
              extent.depth,
              pointer.pitch * pointer.ysize};
}

cudaError_t cudaMemcpy(void* destination, const void* source, size_t count, cudaMemcpyKind kind) {
  return waited([&] { return checkedCopy(destination, source, count, kind); });
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return inStream(stream, [&] { return checkedCopy(destination, source, count, kind); });
}

cudaError_t cudaMemcpyPeer(void* destination, int destinationDevice, const void* source, int sourceDevice,
                           size_t count) {
  return waited([&] {
    requireDevices(destinationDevice, sourceDevice);
    return checkedCopy(destination, source, count, cudaMemcpyDefault);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int destinationDevice, const void* source, int sourceDevice,
                                size_t count, cudaStream_t stream) {
  return inStream(stream, [&] {
    requireDevices(destinationDevice, sourceDevice);
    return checkedCopy(destination, source, count, cudaMemcpyDefault);
  });
}

cudaError_t cudaMemcpy2D(void* destination, size_t destinationPitch, const void* source, size_t sourcePitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  return waited([&] { return checkedCopy2D(destination, destinationPitch, source, sourcePitch, width, height, kind); });
}

cudaError_t cudaMemcpy2DAsync(void* destination, size_t destinationPitch, const void* source, size_t sourcePitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return inStream(
      stream, [&] { return checkedCopy2D(destination, destinationPitch, source, sourcePitch, width, height, kind); });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* params) {
  return waited([&] { return checkedCopy3D(params); });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* params, cudaStream_t stream) {
  return inStream(stream, [&] { return checkedCopy3D(params); });
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* params) {
  return waited([&] { return checkedPeerCopy3D(params); });
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* params, cudaStream_t stream) {
  return inStream(stream, [&] { return checkedPeerCopy3D(params); });
}

cudaError_t cudaMemset(void* pointer, int value, size_t count) {
  return waited([&] { return checkedFill(pointer, value, count); });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count, cudaStream_t stream) {
  return inStream(stream, [&] { return checkedFill(pointer, value, count); });
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return waited([&] { return checkedFill2D(pointer, pitch, value, width, height); });
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return inStream(stream, [&] { return checkedFill2D(pointer, pitch, value, width, height); });
}

cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
  return waited([&] { return checkedFill3D(pointer, value, extent); });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream) {
  return inStream(stream, [&] { return checkedFill3D(pointer, value, extent); });
}

cudaError_t memcpyBatch(void* const* destinations, const void* const* sources, const size_t* sizes, size_t count,
                        size_t* failIndex, cudaStream_t handle) {
  size_t index = 0;
  if (failIndex != nullptr) *failIndex = ~size_t{0};
  const cudaError_t error = guarded([&] {
    require(destinations != nullptr && sources != nullptr && sizes != nullptr && count > 0);
    require(handle != nullptr && handle != cudaStreamLegacy);
    for (; index < count; ++index) {
      submitAsync(checkedCopy(destinations[index], sources[index], sizes[index], cudaMemcpyDefault), handle);
    }
  });
  if (error != cudaSuccess && failIndex != nullptr) *failIndex = index;
  return error;
}

cudaError_t cudaMemcpyBatchAsync(void* const* destinations, const void* const* sources, const size_t* sizes,
                                 size_t count, cudaMemcpyAttributes*, size_t*, size_t, cudaStream_t stream) {
  return memcpyBatch(destinations, sources, sizes, count, nullptr, stream);
}

cudaError_t memcpyBatchAsync12(void** destinations, void** sources, size_t* sizes, size_t count, cudaMemcpyAttributes*,
                               size_t*, size_t, size_t* failIndex, cudaStream_t stream) {
  return memcpyBatch(destinations, sources, sizes, count, failIndex, stream);
}

}  // namespace
}  // namespace api

Entries copyEntries() {
  return {TENON_DEFAULT_STREAM_ENTRY(cudaMemcpy),
          TENON_STREAM_ENTRY(cudaMemcpyAsync),
          TENON_ENTRY(cudaMemcpyPeer),
          TENON_ENTRY(cudaMemcpyPeerAsync),
          TENON_DEFAULT_STREAM_ENTRY(cudaMemcpy2D),
          TENON_STREAM_ENTRY(cudaMemcpy2DAsync),
          TENON_DEFAULT_STREAM_ENTRY(cudaMemcpy3D),
          TENON_STREAM_ENTRY(cudaMemcpy3DAsync),
          TENON_ENTRY_AS("cudaMemcpy3DPeer", cudaMemcpy3DPeer, 12, 13),
          TENON_ENTRY_AS("cudaMemcpy3DPeer_ptds", cudaMemcpy3DPeer, 12, 13),
          TENON_STREAM_ENTRY_AS("cudaMemcpy3DPeerAsync", cudaMemcpy3DPeerAsync, 12, 13),
          TENON_DEFAULT_STREAM_ENTRY(cudaMemset),
          TENON_STREAM_ENTRY(cudaMemsetAsync),
          TENON_DEFAULT_STREAM_ENTRY(cudaMemset2D),
          TENON_STREAM_ENTRY(cudaMemset2DAsync),
          TENON_DEFAULT_STREAM_ENTRY(cudaMemset3D),
          TENON_STREAM_ENTRY(cudaMemset3DAsync),
          TENON_STREAM_ENTRY_AS("cudaMemcpyBatchAsync", cudaMemcpyBatchAsync, 13, 13),
          TENON_STREAM_ENTRY_AS("cudaMemcpyBatchAsync", memcpyBatchAsync12, 12, 12)};
}

}  // namespace tenon::hostcuda
