// Stream capture as API calls.
#include "capture.h"
#include "table.h"

namespace tenon::hostcuda {
namespace api {
namespace {

template <class Body>
cudaError_t withStream(cudaStream_t handle, Body&& body) {
  return guarded([&] {
    const Lock lock = Scheduler::instance().lock();
    const StreamPtr stream = Scheduler::instance().stream(handle);
    body(stream);
  });
}

void requireMode(cudaStreamCaptureMode mode) {
  require(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return withStream(handle, [&](const StreamPtr& stream) {
    requireMode(mode);
    beginCapture(stream, mode, nullptr, {});
  });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graphHandle,
                                          const cudaGraphNode_t* dependencies, const cudaGraphEdgeData*, size_t count,
                                          cudaStreamCaptureMode mode) {
  return withStream(handle, [&](const StreamPtr& stream) {
    requireMode(mode);
    const std::shared_ptr<Graph> graph = Graphs::instance().get(graphHandle);
    beginCapture(stream, mode, graph, Graphs::instance().nodes(*graph, dependencies, count));
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  EndedCapture ended;  // dropped after the lock
  return guarded([&] {
    require(graph != nullptr);
    *graph = nullptr;
    const Lock lock = Scheduler::instance().lock();
    ended = endCapture(Scheduler::instance().stream(handle));
    require(ended.error == cudaSuccess, ended.error);
    *graph = ended.handle;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return guarded([&] {
    require(mode != nullptr);
    requireMode(*mode);
    std::swap(*mode, threadCaptureMode());
  });
}

cudaStreamCaptureStatus statusOf(const Stream& stream) {
  if (stream.capture == nullptr) return cudaStreamCaptureStatusNone;
  return stream.capture->isInvalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return withStream(handle, [&](const StreamPtr& stream) {
    require(status != nullptr);
    refuseImplicitQuestion(stream);
    *status = statusOf(*stream);
  });
}

// Edges without data: as many zeros as the stream has dependencies, valid until the thread asks again.
const cudaGraphEdgeData* plainEdges(size_t count) {
  thread_local std::vector<cudaGraphEdgeData> edges;
  edges.assign(count, cudaGraphEdgeData{});
  return edges.data();
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  return withStream(handle, [&](const StreamPtr& stream) {
    require(status != nullptr);
    refuseImplicitQuestion(stream);
    *status = statusOf(*stream);
    if (*status != cudaStreamCaptureStatusActive) return;
    if (id != nullptr) *id = stream->capture->id;
    if (graph != nullptr) *graph = stream->capture->graph->handle();
    const std::vector<Node*>& tails = stream->captureTails;
    if (dependencies != nullptr) *dependencies = reinterpret_cast<const cudaGraphNode_t*>(tails.data());
    if (edges != nullptr) *edges = plainEdges(tails.size());
    if (count != nullptr) *count = tails.size();
  });
}

cudaError_t streamGetCaptureInfo12(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id) {
  return api::cudaStreamGetCaptureInfo(handle, status, id, nullptr, nullptr, nullptr, nullptr);
}

cudaError_t streamGetCaptureInfoV2(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                   cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count) {
  return api::cudaStreamGetCaptureInfo(handle, status, id, graph, dependencies, nullptr, count);
}

cudaError_t streamUpdateCaptureDependencies12(cudaStream_t handle, cudaGraphNode_t* dependencies, size_t count,
                                              unsigned int flags) {
  return withStream(handle, [&](const StreamPtr& stream) {
    require(stream->capture != nullptr, cudaErrorIllegalState);
    require(flags == cudaStreamAddCaptureDependencies || flags == cudaStreamSetCaptureDependencies);
    const std::vector<Node*> nodes = Graphs::instance().nodes(*stream->capture->graph, dependencies, count);
    if (flags == cudaStreamSetCaptureDependencies) stream->captureTails.clear();
    for (Node* node : nodes) stream->captureTails.push_back(node);
  });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData*, size_t count, unsigned int flags) {
  return streamUpdateCaptureDependencies12(handle, dependencies, count, flags);
}

}  // namespace
}  // namespace api

Entries captureEntries() {
  return {TENON_STREAM_ENTRY(cudaStreamBeginCapture),
          TENON_STREAM_ENTRY(cudaStreamBeginCaptureToGraph),
          TENON_STREAM_ENTRY(cudaStreamEndCapture),
          TENON_ENTRY(cudaThreadExchangeStreamCaptureMode),
          TENON_STREAM_ENTRY(cudaStreamIsCapturing),
          TENON_STREAM_ENTRY_AS("cudaStreamGetCaptureInfo", cudaStreamGetCaptureInfo, 13, 13),
          TENON_STREAM_ENTRY_AS("cudaStreamGetCaptureInfo", streamGetCaptureInfo12, 12, 12),
          TENON_STREAM_ENTRY_AS("cudaStreamGetCaptureInfo_v2", streamGetCaptureInfoV2, 12, 12),
          TENON_STREAM_ENTRY_AS("cudaStreamGetCaptureInfo_v3", cudaStreamGetCaptureInfo, 12, 12),
          TENON_STREAM_ENTRY_AS("cudaStreamUpdateCaptureDependencies", cudaStreamUpdateCaptureDependencies, 13, 13),
          TENON_STREAM_ENTRY_AS("cudaStreamUpdateCaptureDependencies", streamUpdateCaptureDependencies12, 12, 12),
          TENON_STREAM_ENTRY_AS("cudaStreamUpdateCaptureDependencies_v2", cudaStreamUpdateCaptureDependencies, 12, 12)};
}

}  // namespace tenon::hostcuda
