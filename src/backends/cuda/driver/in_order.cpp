// Edges of a graph under capture, changed after the library's launch has made them.
#include "backends/cuda/driver/in_order.h"

#include <cstdint>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/driver/pinned_memory.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kOverlapping = 90;  // the least compute capability with programmatic dependent launch

// CUgraphEdgeData of the driver's interface; older toolkits do not declare it, nor the functions below.
struct EdgeData {
  uint8_t fromPort = 0;
  uint8_t toPort = 0;
  uint8_t type = 0;  // not 0: programmatic
  uint8_t reserved[5] = {};
};
static_assert(sizeof(EdgeData) == 8);

struct Functions {
  std::string missing;
  CUresult (*captureInfo)(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                          const CUgraphNode** nodes, const EdgeData** edges, size_t* count);
  CUresult (*dependents)(CUgraphNode node, CUgraphNode* nodes, EdgeData* edges, size_t* count);
  CUresult (*remove)(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const EdgeData* edges,
                     size_t count);
  CUresult (*add)(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const EdgeData* edges, size_t count);
};

// Those of a driver without programmatic edges are missing.
const Functions& functions() {
  static const auto* const kFunctions = [] {
    auto* f = new Functions{};
    void* library = openLibrary({"libcuda.so.1"}, f->missing);
    const auto get = [&](const char* name, auto& function) { findFunction(library, name, function, f->missing); };
    get("cuStreamGetCaptureInfo_v3", f->captureInfo);
    get("cuGraphNodeGetDependentNodes_v2", f->dependents);
    get("cuGraphRemoveDependencies_v2", f->remove);
    get("cuGraphAddDependencies_v2", f->add);
    return f;
  }();
  return *kFunctions;
}

// A word that nobody reads, of the host, as memory of the device is the caller's to give.
CUdeviceptr anyWord() {
  static const auto* const kWord = [] {
    auto* word = new PinnedMemory;
    word->reserve(sizeof(uint32_t));
    return word;
  }();
  return reinterpret_cast<CUdeviceptr>(kWord->data());
}

}  // namespace

InOrder::InOrder(void* stream) {
  if (computeCapability() < kOverlapping) return;
  auto* const on = static_cast<CUstream>(stream);
  if (functions().missing.empty()) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    const CUgraphNode* nodes = nullptr;
    const EdgeData* edges = nullptr;
    size_t count = 0;
    CUgraph graph = nullptr;
    // The legacy stream cannot say so while another one captures; then the launch itself will.
    if (functions().captureInfo(on, &status, &id, &graph, &nodes, &edges, &count) != CUDA_SUCCESS) return;
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
      graph_ = graph;
      front_.assign(nodes, nodes + count);
      return;
    }
  }
  check(driver().memsetAsync(anyWord(), 0, sizeof(uint32_t), on), "cuMemsetD8Async");
}

void InOrder::end() {
  for (CUgraphNode from : front_) {
    size_t count = 0;
    check(functions().dependents(from, nullptr, nullptr, &count), "cuGraphNodeGetDependentNodes");
    std::vector<CUgraphNode> nodes(count);
    std::vector<EdgeData> edges(count);
    check(functions().dependents(from, nodes.data(), edges.data(), &count), "cuGraphNodeGetDependentNodes");
    for (size_t i = 0; i < count; ++i) {
      if (edges[i].type == 0) continue;
      const EdgeData plain;
      check(functions().remove(graph_, &from, &nodes[i], &edges[i], 1), "cuGraphRemoveDependencies");
      check(functions().add(graph_, &from, &nodes[i], &plain, 1), "cuGraphAddDependencies");
    }
  }
}

}  // namespace tenon::backends::cuda
