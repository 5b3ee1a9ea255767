// Streams, events and graphs: what is captured is kept, and runs in its order when the graph is launched.
#include "graphs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

using Work = std::vector<std::function<void()>>;

struct CUgraph_st {
  Work work;
  std::vector<std::shared_ptr<unsigned>> conditions;  // by whose address kernels set them
  bool hasNodes = false;                              // conditional ones
  bool isBody = false;                                // of such a node, which owns it
};
struct CUgraphExec_st {
  Work work;
  bool hasNodes;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  CUgraph graph = nullptr;  // recorded on a stream that was being captured
};

namespace {

std::mutex mutex;
std::map<CUstream, CUgraph> captured;  // streams by whom they are captured
std::atomic<unsigned long> waits = 0;
std::atomic<unsigned long> legacyWaits = 0;
std::atomic<bool> clockCounts = false;
std::atomic<unsigned long> spent = 0;  // microseconds

constexpr int kIf = 0;
constexpr int kWhile = 1;

struct ConditionalNode {
  int kind;
  std::shared_ptr<unsigned> condition;
  std::vector<std::unique_ptr<CUgraph_st>> bodies;
  std::vector<void*> list;

  void run() const {
    constexpr int kMost = 1 << 20;
    const auto body = [&](size_t index) {
      for (const auto& work : bodies[index]->work) work();
    };
    if (kind == kIf && *condition == 0 && bodies.size() > 1) body(1);
    if (kind == kIf && *condition != 0) body(0);
    for (int i = 0; kind == kWhile && *condition != 0; ++i) {
      if (i == kMost) {
        std::fprintf(stderr, "emulator: a node of a graph has run %d times and goes on\n", kMost);
        std::abort();
      }
      body(0);
    }
  }
};

CUgraph graphOf(CUstream stream) {
  const std::lock_guard lock(mutex);
  const auto found = captured.find(stream);
  return found == captured.end() ? nullptr : found->second;
}

}  // namespace

CUresult enqueue(CUstream stream, std::function<void()> work) {
  if (auto* const graph = graphOf(stream); graph != nullptr) {
    graph->work.push_back(std::move(work));
  } else {
    work();
  }
  return CUDA_SUCCESS;
}
bool isCapturedAsBody(CUstream stream) {
  const auto* const graph = graphOf(stream);
  return graph != nullptr && graph->isBody;
}
void emulatedEnqueue(CUstream stream, void (*work)(void*), std::shared_ptr<void> argument) {
  enqueue(stream, [work, argument = std::move(argument)] {
    emulatedSpend(100);
    work(argument.get());
  });
}

// Whether kernels take what their launches say instead of the time that passes; no function of a driver. Not between
// two events.
EXPORT void emulatedCountedClock(int on) { clockCounts = on != 0; }
void emulatedSpend(size_t microseconds) { spent += microseconds; }

// How often the host has waited for a stream; no function of a driver.
EXPORT unsigned long emulatedWaits() { return waits; }
EXPORT unsigned long emulatedLegacyWaits() { return legacyWaits; }  // those for the stream that all others wait for
EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  ++waits;
  legacyWaits += stream == nullptr ? 1 : 0;
  return graphOf(stream) != nullptr ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(new char), CUDA_SUCCESS;
}
EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  const std::lock_guard lock(mutex);
  captured.erase(stream);
  delete reinterpret_cast<char*>(stream);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = graphOf(stream) != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  if (stream == nullptr || graphOf(stream) != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const std::lock_guard lock(mutex);
  captured[stream] = new CUgraph_st;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  *graph = graphOf(stream);
  if (*graph == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const std::lock_guard lock(mutex);
  std::erase_if(captured, [&](const auto& one) { return one.second == *graph; });
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  return *executable = new CUgraphExec_st{graph->work, graph->hasNodes}, CUDA_SUCCESS;
}
EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  if (executable->work.size() != graph->work.size() || executable->hasNodes || graph->hasNodes)
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  return executable->work = graph->work, CUDA_SUCCESS;
}
std::atomic<unsigned long> graphLaunches = 0;
EXPORT unsigned long emulatedGraphLaunches() { return graphLaunches; }
EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  ++graphLaunches;
  // A graph with conditional nodes is no child of another one.
  if (executable->hasNodes && graphOf(stream) != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (const auto& work : executable->work) enqueue(stream, work);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) { return delete executable, CUDA_SUCCESS; }
EXPORT CUresult cuGraphDestroy(CUgraph graph) { return delete graph, CUDA_SUCCESS; }

EXPORT CUresult cuEventCreate(CUevent* event, unsigned) { return *event = new CUevent_st, CUDA_SUCCESS; }
EXPORT CUresult cuEventDestroy_v2(CUevent event) { return delete event, CUDA_SUCCESS; }
EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->graph = graphOf(stream);
  using Clock = std::chrono::steady_clock;
  event->time = clockCounts ? Clock::time_point(std::chrono::microseconds(1 + spent)) : Clock::now();
  return CUDA_SUCCESS;
}
// All work before is done; what waits for an event that nobody has recorded would not wait for anything. A stream that
// waits for work in a graph goes on in that graph.
EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  if (event->time == std::chrono::steady_clock::time_point()) return CUDA_ERROR_INVALID_VALUE;
  if (event->graph == nullptr) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex);
  captured[stream] = event->graph;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
#undef cuEventElapsedTime  // the header renames it to its second version
EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return CUDA_SUCCESS;
}

void* emulatedGraphOf(void* stream) { return graphOf(static_cast<CUstream>(stream)); }
unsigned* addCondition(void* graph, unsigned value) {
  auto& conditions = static_cast<CUgraph>(graph)->conditions;
  conditions.push_back(std::make_shared<unsigned>(value));
  return conditions.back().get();
}
// Work is kept in the order in which it is captured, so a node depends on all before it.
void** addNode(void* to, const unsigned* condition, int kind, unsigned bodies) {
  auto& graph = *static_cast<CUgraph>(to);
  const auto found = std::find_if(graph.conditions.begin(), graph.conditions.end(),
                                  [&](const auto& one) { return one.get() == condition; });
  const bool fits = kind == kWhile ? bodies == 1 : kind == kIf && (bodies == 1 || bodies == 2);
  if (found == graph.conditions.end() || !fits) return nullptr;
  auto node = std::make_shared<ConditionalNode>();
  node->kind = kind;
  node->condition = *found;
  for (unsigned i = 0; i < bodies; ++i) {
    node->bodies.push_back(std::make_unique<CUgraph_st>());
    node->bodies.back()->isBody = true;
    node->list.push_back(node->bodies.back().get());
  }
  graph.hasNodes = true;
  graph.work.push_back([node] { node->run(); });
  return node->list.data();
}
bool beginCaptureTo(void* stream, void* graph) {
  auto* const from = static_cast<CUstream>(stream);
  if (from == nullptr || graphOf(from) != nullptr) return false;
  const std::lock_guard lock(mutex);
  captured[from] = static_cast<CUgraph>(graph);
  return true;
}
