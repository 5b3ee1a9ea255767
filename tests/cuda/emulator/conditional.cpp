// The driver's functions for conditional nodes. Older toolkits do not declare them, later ones with types of their own:
// this file includes none.
#include "nodes.h"

#include <cstddef>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// CUgraphNodeParams with the part of conditional nodes.
struct NodeParameters {
  int type;
  int reserved[3];
  uint64_t handle;
  int kind;
  unsigned bodies;
  void** graphs;
};
constexpr int kConditional = 13;
constexpr int kSuccess = 0;
constexpr int kInvalid = 1;
constexpr int kActive = 1;

}  // namespace

EXPORT int cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }

EXPORT int cuStreamGetCaptureInfo_v3(void* stream, int* status, uint64_t* id, void** graph, void** nodes, void** edges,
                                     size_t* count) {
  *graph = emulatedGraphOf(stream);
  *status = *graph != nullptr ? kActive : 0;
  *id = reinterpret_cast<uint64_t>(*graph);
  *nodes = *edges = nullptr;
  *count = 0;
  return kSuccess;
}

EXPORT int cuGraphConditionalHandleCreate(uint64_t* handle, void* graph, void*, unsigned value, unsigned) {
  *handle = reinterpret_cast<uint64_t>(addCondition(graph, value));
  return kSuccess;
}

EXPORT int cuGraphAddNode_v2(void** node, void* graph, void*, void*, size_t, NodeParameters* parameters) {
  if (parameters->type != kConditional) return kInvalid;
  const auto* const condition = reinterpret_cast<const unsigned*>(parameters->handle);
  parameters->graphs = addNode(graph, condition, parameters->kind, parameters->bodies);
  *node = parameters->graphs;
  return parameters->graphs != nullptr ? kSuccess : kInvalid;
}

EXPORT int cuStreamUpdateCaptureDependencies_v2(void* stream, void*, void*, size_t count, unsigned) {
  return emulatedGraphOf(stream) != nullptr && count == 1 ? kSuccess : kInvalid;
}

EXPORT int cuStreamBeginCaptureToGraph(void* stream, void* graph, void*, void*, size_t, int) {
  return beginCaptureTo(stream, graph) ? kSuccess : kInvalid;
}
