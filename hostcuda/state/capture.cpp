// The rules of stream capture: begin, fork, join, end, and what is forbidden meanwhile.
#include "capture.h"

#include <algorithm>
#include <unordered_set>

namespace tenon::hostcuda {
namespace {

uint64_t nextCaptureId = 1;

// Captures between begin and end. Guarded by the scheduler's lock like everything here.
std::vector<std::shared_ptr<Capture>>& activeCaptures() {
  static auto* captures = new std::vector<std::shared_ptr<Capture>>;
  return *captures;
}

[[noreturn]] void failCapture(const std::shared_ptr<Capture>& capture, cudaError_t code) {
  capture->isInvalidated = true;
  fail(code);
}

void requireValid(const Capture& capture) { require(!capture.isInvalidated, cudaErrorStreamCaptureInvalidated); }

void mergeTails(std::vector<Node*>& tails, const std::vector<Node*>& more) {
  for (Node* node : more) {
    if (std::find(tails.begin(), tails.end(), node) == tails.end()) tails.push_back(node);
  }
}

void join(const StreamPtr& stream, const std::shared_ptr<Capture>& capture) {
  stream->capture = capture;
  stream->captureTails.clear();
  capture->members.push_back(stream);
}

// Whether all that the joined streams captured lies before what the origin depends on now.
bool allJoined(const Capture& capture) {
  std::unordered_set<const Node*> before;
  std::vector<const Node*> open(capture.origin->captureTails.begin(), capture.origin->captureTails.end());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!before.insert(node).second) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  for (const StreamPtr& member : capture.members) {
    for (const Node* tail : member->captureTails) {
      if (before.count(tail) == 0) return false;
    }
  }
  return true;
}

// Lets all streams go; whether the graph is the capture's own.
bool closeCapture(Capture& capture) {
  capture.isActive = false;
  for (const StreamPtr& member : capture.members) {
    member->capture = nullptr;
    member->captureTails.clear();
  }
  capture.members.clear();
  capture.origin = nullptr;
  auto& active = activeCaptures();
  active.erase(std::remove_if(active.begin(), active.end(), [&](const auto& entry) { return entry.get() == &capture; }),
               active.end());
  return capture.ownsGraph;
}

void addCaptured(const StreamPtr& stream, WorkItem item) {
  requireValid(*stream->capture);
  Node& node = Graphs::instance().addNode(*stream->capture->graph, stream->captureTails, std::move(item));
  stream->captureTails.assign(1, &node);
}

}  // namespace

cudaStreamCaptureMode& threadCaptureMode() noexcept {
  thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  return mode;
}

void beginCapture(const StreamPtr& stream, cudaStreamCaptureMode mode, std::shared_ptr<Graph> graph,
                  std::vector<Node*> dependencies) {
  require(!stream->isLegacy, cudaErrorStreamCaptureUnsupported);
  require(stream->capture == nullptr, cudaErrorIllegalState);
  auto capture = std::make_shared<Capture>();
  capture->id = nextCaptureId++;
  capture->ownsGraph = graph == nullptr;
  capture->graph = graph != nullptr ? std::move(graph) : Graphs::instance().create();
  capture->mode = mode;
  capture->origin = stream;
  capture->thread = std::this_thread::get_id();
  join(stream, capture);
  stream->captureTails = std::move(dependencies);
  activeCaptures().push_back(capture);
}

EndedCapture endCapture(const StreamPtr& stream) {
  const std::shared_ptr<Capture> capture = stream->capture;
  require(capture != nullptr, cudaErrorIllegalState);
  require(capture->origin == stream, cudaErrorStreamCaptureUnmatched);
  require(capture->mode == cudaStreamCaptureModeRelaxed || capture->thread == std::this_thread::get_id(),
          cudaErrorStreamCaptureWrongThread);
  EndedCapture ended;
  if (capture->isInvalidated) {
    ended.error = cudaErrorStreamCaptureInvalidated;
  } else if (!allJoined(*capture)) {
    ended.error = cudaErrorStreamCaptureUnjoined;
  }
  const bool ownsGraph = closeCapture(*capture);
  if (ended.error == cudaSuccess) {
    ended.handle = capture->graph->handle();
  } else if (ownsGraph) {
    ended.dropped = Graphs::instance().remove(capture->graph->handle());
  }
  capture->graph = nullptr;
  return ended;
}

Point put(Lock& lock, const StreamPtr& stream, WorkItem item) {
  Scheduler::refuseInsideUserCode();
  if (stream->capture != nullptr) {
    addCaptured(stream, std::move(item));
    return {};
  }
  refuseImplicitDependency(stream);
  return Scheduler::instance().submit(lock, stream, std::move(item));
}

void putGraph(Lock& lock, const StreamPtr& stream, const std::shared_ptr<GraphExec>& exec) {
  Scheduler::refuseInsideUserCode();
  if (stream->capture != nullptr) {
    addCaptured(stream, RunProgram{exec->program});
    return;
  }
  refuseImplicitDependency(stream);
  Graphs::instance().launch(lock, exec, stream);
}

void putRecord(Lock& lock, const StreamPtr& stream, const std::shared_ptr<Event>& event, bool isExternal) {
  if (stream->capture == nullptr) {
    refuseImplicitDependency(stream);
    std::shared_ptr<Recording> recording = Scheduler::instance().record(lock, stream);
    event->capture = nullptr;
    event->captureTails.clear();
    event->recording = std::move(recording);
    return;
  }
  if (isExternal) {
    addCaptured(stream, RecordEvent{event});
    return;
  }
  requireValid(*stream->capture);
  event->recording = nullptr;
  event->capture = stream->capture;
  event->captureTails = stream->captureTails;
}

void putWait(Lock& lock, const StreamPtr& stream, const std::shared_ptr<Event>& event, bool isExternal) {
  if (isExternal && stream->capture != nullptr) {
    addCaptured(stream, AwaitEvent{event});
    return;
  }
  if (event->capture != nullptr) {
    const std::shared_ptr<Capture> capture = event->capture;
    require(capture->isActive, cudaErrorCapturedEvent);
    requireValid(*capture);
    if (stream->isLegacy) failCapture(capture, cudaErrorStreamCaptureImplicit);
    if (stream->capture == nullptr) join(stream, capture);
    if (stream->capture != capture) {
      stream->capture->isInvalidated = true;
      failCapture(capture, cudaErrorStreamCaptureMerge);
    }
    mergeTails(stream->captureTails, event->captureTails);
    return;
  }
  if (event->recording == nullptr) return;
  if (stream->capture != nullptr) failCapture(stream->capture, cudaErrorStreamCaptureIsolation);
  if (event->recording->done || Scheduler::reached(event->recording->point)) return;
  refuseImplicitDependency(stream);
  Scheduler::instance().submit(lock, stream, Nothing{}, {event->recording->point});
}

void refuseCapturing(const StreamPtr& stream) {
  if (stream->capture != nullptr) failCapture(stream->capture, cudaErrorStreamCaptureUnsupported);
  refuseImplicitDependency(stream);
}

namespace {

std::shared_ptr<Capture> blockingCapture() {
  for (const auto& capture : activeCaptures()) {
    for (const StreamPtr& member : capture->members) {
      if (member->isBlocking) return capture;
    }
  }
  return nullptr;
}

}  // namespace

void refuseImplicitDependency(const StreamPtr& stream) {
  if (!stream->isLegacy) return;
  const std::shared_ptr<Capture> capture = blockingCapture();
  if (capture != nullptr) failCapture(capture, cudaErrorStreamCaptureImplicit);
}

void refuseImplicitQuestion(const StreamPtr& stream) {
  require(!stream->isLegacy || blockingCapture() == nullptr, cudaErrorStreamCaptureImplicit);
}

void refuseDuringCapture() {
  const cudaStreamCaptureMode mode = threadCaptureMode();
  if (mode == cudaStreamCaptureModeRelaxed) return;
  for (const auto& capture : activeCaptures()) {
    const bool isOurs = capture->thread == std::this_thread::get_id();
    const bool forbidsUs = isOurs && capture->mode != cudaStreamCaptureModeRelaxed;
    const bool forbidsAll = capture->mode == cudaStreamCaptureModeGlobal && mode == cudaStreamCaptureModeGlobal;
    if (forbidsUs || forbidsAll) failCapture(capture, cudaErrorStreamCaptureUnsupported);
  }
}

std::shared_ptr<Graph> abandonCapture(const StreamPtr& stream) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return nullptr;
  capture->isInvalidated = true;
  if (capture->origin != stream) {
    auto& members = capture->members;
    members.erase(std::remove(members.begin(), members.end(), stream), members.end());
    stream->capture = nullptr;
    stream->captureTails.clear();
    return nullptr;
  }
  const std::shared_ptr<Graph> graph = std::move(capture->graph);
  return closeCapture(*capture) ? Graphs::instance().remove(graph->handle()) : nullptr;
}

}  // namespace tenon::hostcuda
