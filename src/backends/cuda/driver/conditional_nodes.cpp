// Nodes that are added to a graph while it is captured.
#include "backends/cuda/driver/conditional_nodes.h"

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/driver/cuda_device.h"
#include "core/environment.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

// CUgraphNodeParams of the driver's interface, with the part of conditional nodes; older toolkits do not declare it.
struct NodeParameters {
  static constexpr int kConditional = 13;
  int type = kConditional;
  int reserved[3] = {};
  uint64_t handle = 0;
  int kind = 0;
  unsigned bodies = 0;
  CUgraph* graphs = nullptr;  // the driver's, set by it
  CUcontext context = nullptr;
  char padding[29 * 8 - 32] = {};
  int64_t reservedToo = 0;
};
static_assert(sizeof(NodeParameters) == 256);

constexpr int kIf = 0;
constexpr int kWhile = 1;

// Functions of later drivers, declared here for the same reason. `edges` is null, or as the driver gave it.
struct Functions {
  std::string missing;
  CUresult (*version)(int* version);
  CUresult (*captureInfo)(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                          const CUgraphNode** nodes, const void** edges, size_t* count);
  CUresult (*updateCapture)(CUstream stream, CUgraphNode* nodes, const void* edges, size_t count, unsigned flags);
  CUresult (*beginCaptureToGraph)(CUstream stream, CUgraph graph, const CUgraphNode* nodes, const void* edges,
                                  size_t count, CUstreamCaptureMode mode);
  CUresult (*addNode)(CUgraphNode* node, CUgraph graph, const CUgraphNode* nodes, const void* edges, size_t count,
                      NodeParameters* parameters);
  CUresult (*createHandle)(cuuint64_t* handle, CUgraph graph, CUcontext context, unsigned value, unsigned flags);
};

const Functions& functions() {
  static const auto* const kFunctions = [] {
    auto* f = new Functions{};
    void* library = openLibrary({"libcuda.so.1"}, f->missing);
    const auto get = [&](const char* name, auto& function) { findFunction(library, name, function, f->missing); };
    get("cuDriverGetVersion", f->version);
    get("cuStreamGetCaptureInfo_v3", f->captureInfo);
    get("cuStreamUpdateCaptureDependencies_v2", f->updateCapture);
    get("cuStreamBeginCaptureToGraph", f->beginCaptureToGraph);
    get("cuGraphAddNode_v2", f->addNode);
    get("cuGraphConditionalHandleCreate", f->createHandle);
    return f;
  }();
  return *kFunctions;
}

struct Captured {
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const void* edges = nullptr;
  size_t count = 0;
};

Captured captured(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  Captured result;
  check(functions().captureInfo(stream, &status, &id, &result.graph, &result.nodes, &result.edges, &result.count),
        "cuStreamGetCaptureInfo");
  checkInternal(status == CU_STREAM_CAPTURE_STATUS_ACTIVE, "a conditional node for a stream that is not captured");
  return result;
}

CUcontext currentContext() {
  CUcontext context = nullptr;
  check(driver().contextGetCurrent(&context), "cuCtxGetCurrent");
  return context;
}

// The capture ends whatever the body throws: a stream must not stay in it.
void captureBody(CUstream stream, CUgraph graph, const Condition::Body& body) {
  check(functions().beginCaptureToGraph(stream, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
        "cuStreamBeginCaptureToGraph");
  const auto end = [stream] {
    CUgraph same = nullptr;
    return driver().streamEndCapture(stream, &same);
  };
  try {
    launchNextInOrder();  // nothing is in front of the first one
    body(stream);
  } catch (...) {
    end();
    throw;
  }
  check(end(), "cuStreamEndCapture of a body");
}

}  // namespace

bool hasConditionalNodes() {
  constexpr int kLeast = 12080;  // nodes with a body for each of two cases
  static const bool kHas = [] {
    int version = 0;
    return functions().missing.empty() && functions().version(&version) == CUDA_SUCCESS && version >= kLeast;
  }();
  return kHas && switchedOn("TENON_CUDA_CONDITIONAL_NODES", true);
}

bool isCapturing(void* stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // The legacy stream cannot say so while another one captures; then the launch itself will.
  return driver().streamIsCapturing(static_cast<CUstream>(stream), &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

BodyStream::BodyStream() {
  makeCurrent();
  check(driver().streamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}
BodyStream::~BodyStream() { driver().streamDestroy(stream_); }

Condition::Condition(void* stream) : stream_(static_cast<CUstream>(stream)) {
  cuuint64_t handle = 0;
  check(functions().createHandle(&handle, captured(stream_).graph, currentContext(), 0, 0),
        "cuGraphConditionalHandleCreate");
  handle_ = handle;
}

void Condition::whileItHolds(const BodyStream& inner, const Body& body) { addNode(kWhile, {&body}, inner); }

void Condition::choose(const BodyStream& inner, const Body& then, const Body& otherwise) {
  addNode(kIf, {&then, &otherwise}, inner);
}

void Condition::addNode(int kind, std::initializer_list<const Body*> bodies, const BodyStream& inner) {
  NodeParameters parameters;
  parameters.handle = handle_;
  parameters.kind = kind;
  parameters.bodies = static_cast<unsigned>(bodies.size());
  parameters.context = currentContext();
  const auto before = captured(stream_);
  CUgraphNode node = nullptr;
  check(functions().addNode(&node, before.graph, before.nodes, before.edges, before.count, &parameters),
        "cuGraphAddNode");
  constexpr unsigned kInsteadOfThose = 1;
  check(functions().updateCapture(stream_, &node, nullptr, 1, kInsteadOfThose), "cuStreamUpdateCaptureDependencies");
  CUgraph* graph = parameters.graphs;
  for (const auto* body : bodies) captureBody(inner.get(), *graph++, *body);
  launchNextInOrder();  // behind a node that is no kernel
}

}  // namespace tenon::backends::cuda
