// Stream capture: turns what is submitted to streams into nodes of a graph, across forks and joins by events.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "graph.h"

namespace tenon::hostcuda {

struct Capture {
  uint64_t id = 0;
  std::shared_ptr<Graph> graph;
  bool ownsGraph = true;  // begun without a graph: the end of the capture hands it out
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  StreamPtr origin;
  std::thread::id thread;
  bool isInvalidated = false;
  bool isActive = true;
  std::vector<StreamPtr> members;  // the origin and the streams that joined
};

// All take the scheduler's lock held.

void beginCapture(const StreamPtr& stream, cudaStreamCaptureMode mode, std::shared_ptr<Graph> graph,
                  std::vector<Node*> dependencies);

struct EndedCapture {
  cudaError_t error = cudaSuccess;
  cudaGraph_t handle = nullptr;
  std::shared_ptr<Graph> dropped;  // of a failed capture; drop it after the lock
};
EndedCapture endCapture(const StreamPtr& stream);

// Submits the item, or captures it where the stream captures.
Point put(Lock& lock, const StreamPtr& stream, WorkItem item);
void putGraph(Lock& lock, const StreamPtr& stream, const std::shared_ptr<GraphExec>& exec);
void putRecord(Lock& lock, const StreamPtr& stream, const std::shared_ptr<Event>& event, bool isExternal);
void putWait(Lock& lock, const StreamPtr& stream, const std::shared_ptr<Event>& event, bool isExternal);

// Throws, and invalidates the capture, where a capturing stream may not be asked or waited for.
void refuseCapturing(const StreamPtr& stream);
// The same for calls that no capture can hold (allocation, synchronization of the device), by the capture modes.
void refuseDuringCapture();
// The same for work on the legacy default stream while a blocking stream captures.
void refuseImplicitDependency(const StreamPtr& stream);
// For questions about a stream, which leave the capture as it is.
void refuseImplicitQuestion(const StreamPtr& stream);
// Ends the part of a stream that is being destroyed. Drop the result after the lock.
std::shared_ptr<Graph> abandonCapture(const StreamPtr& stream);

cudaStreamCaptureMode& threadCaptureMode() noexcept;

}  // namespace tenon::hostcuda
