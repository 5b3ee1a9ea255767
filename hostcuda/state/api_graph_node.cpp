// Graph nodes as API calls: adding them, reading and changing their parameters.
#include <cstring>

#include "memory.h"
#include "node_params.h"

namespace tenon::hostcuda {
namespace api {
namespace {

template <class MakeWork>
cudaError_t add(cudaGraphNode_t* out, cudaGraph_t handle, const cudaGraphNode_t* dependencies, size_t count,
                MakeWork&& makeWork) {
  return guarded([&] {
    require(out != nullptr);
    const Lock lock = Scheduler::instance().lock();
    Graphs& graphs = Graphs::instance();
    const std::shared_ptr<Graph> graph = graphs.get(handle);
    const std::vector<Node*> before = graphs.nodes(*graph, dependencies, count);
    *out = graphs.addNode(*graph, before, makeWork()).handle();
  });
}

template <class Body>
cudaError_t withNode(cudaGraphNode_t handle, Body&& body) {
  return guarded([&] {
    const Lock lock = Scheduler::instance().lock();
    body(Graphs::instance().node(handle));
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                  size_t count) {
  return add(node, graph, dependencies, count, [] { return WorkItem{Nothing{}}; });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaKernelNodeParams*) {
  return add(node, graph, dependencies, count, []() -> WorkItem { failKernel(); });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemcpy3DParms* params) {
  return add(node, graph, dependencies, count, [&] { return copyWork(params); });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, void* destination, const void* source, size_t bytes,
                                     cudaMemcpyKind kind) {
  return add(node, graph, dependencies, count, [&] { return linearCopyWork(destination, source, bytes, kind); });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemsetParams* params) {
  return add(node, graph, dependencies, count, [&] { return fillWork(params); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                 size_t count, const cudaHostNodeParams* params) {
  return add(node, graph, dependencies, count, [&] { return hostWork(params); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                       size_t count, cudaGraph_t child) {
  return add(node, graph, dependencies, count, [&] { return childWork(child); });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                        size_t count, cudaEvent_t event) {
  return add(node, graph, dependencies, count, [&] { return recordWork(event); });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                      size_t count, cudaEvent_t event) {
  return add(node, graph, dependencies, count, [&] { return awaitWork(event); });
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, cudaMemAllocNodeParams* params) {
  return add(node, graph, dependencies, count, [&]() -> WorkItem {
    require(params != nullptr && params->bytesize > 0);
    auto allocation = std::make_shared<GraphAllocation>(params->bytesize);
    params->dptr = allocation->pointer;
    return Allocate{std::move(allocation)};
  });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                    size_t count, void* pointer) {
  return add(node, graph, dependencies, count, [&] {
    require(pointer != nullptr);
    return WorkItem{Deallocate{pointer}};
  });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData*, size_t count, cudaGraphNodeParams* params) {
  return add(node, graph, dependencies, count, [&] { return generalWork(params); });
}

cudaError_t graphAddNode12(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                           cudaGraphNodeParams* params) {
  return api::cudaGraphAddNode(node, graph, dependencies, nullptr, count, params);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return withNode(handle, [&](Node& node) {
    require(type != nullptr);
    *type = nodeType(node.work);
  });
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t handle, cudaMemcpy3DParms* params) {
  return withNode(handle, [&](Node& node) {
    require(params != nullptr);
    *params = workAs<Copy>(node).params;
  });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t handle, const cudaMemcpy3DParms* params) {
  return withNode(handle, [&](Node& node) {
    workAs<Copy>(node);
    node.work = copyWork(params);
  });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t handle, void* destination, const void* source, size_t count,
                                           cudaMemcpyKind kind) {
  return withNode(handle, [&](Node& node) {
    workAs<Copy>(node);
    node.work = linearCopyWork(destination, source, count, kind);
  });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t handle, cudaMemsetParams* params) {
  return withNode(handle, [&](Node& node) {
    require(params != nullptr);
    *params = workAs<Fill>(node).params;
  });
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t handle, const cudaMemsetParams* params) {
  return withNode(handle, [&](Node& node) {
    workAs<Fill>(node);
    node.work = fillWork(params);
  });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t handle, cudaHostNodeParams* params) {
  return withNode(handle, [&](Node& node) {
    require(params != nullptr);
    *params = workAs<HostCall>(node).params;
  });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t handle, const cudaHostNodeParams* params) {
  return withNode(handle, [&](Node& node) {
    workAs<HostCall>(node);
    node.work = hostWork(params);
  });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t handle, cudaGraph_t* graph) {
  return withNode(handle, [&](Node& node) {
    require(graph != nullptr);
    *graph = workAs<ChildGraph>(node).graph->handle();
  });
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t handle, cudaEvent_t* event) {
  return withNode(handle, [&](Node& node) {
    require(event != nullptr);
    *event = workAs<RecordEvent>(node).event->handle();
  });
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t handle, cudaEvent_t event) {
  return withNode(handle, [&](Node& node) {
    workAs<RecordEvent>(node);
    node.work = recordWork(event);
  });
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t handle, cudaEvent_t* event) {
  return withNode(handle, [&](Node& node) {
    require(event != nullptr);
    *event = workAs<AwaitEvent>(node).event->handle();
  });
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t handle, cudaEvent_t event) {
  return withNode(handle, [&](Node& node) {
    workAs<AwaitEvent>(node);
    node.work = awaitWork(event);
  });
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t handle, cudaMemAllocNodeParams* params) {
  return withNode(handle, [&](Node& node) {
    require(params != nullptr);
    const Allocate& work = workAs<Allocate>(node);
    *params = cudaMemAllocNodeParams{};
    params->poolProps.allocType = cudaMemAllocationTypePinned;
    params->poolProps.location = {cudaMemLocationTypeDevice, 0};
    params->bytesize = work.allocation->bytes;
    params->dptr = work.allocation->pointer;
  });
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t handle, void* pointer) {
  return withNode(handle, [&](Node& node) {
    require(pointer != nullptr);
    void* freed = workAs<Deallocate>(node).pointer;
    std::memcpy(pointer, &freed, sizeof freed);
  });
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t handle, cudaGraphNodeParams* params) {
  return withNode(handle, [&](Node& node) {
    require(params != nullptr && params->type == nodeType(node.work));
    require(params->type != cudaGraphNodeTypeGraph && params->type != cudaGraphNodeTypeMemAlloc, cudaErrorNotSupported);
    node.work = generalWork(params);
  });
}

}  // namespace
}  // namespace api

Entries graphNodeEntries() {
  return {TENON_ENTRY(cudaGraphAddEmptyNode),
          TENON_ENTRY(cudaGraphAddKernelNode),
          TENON_ENTRY(cudaGraphAddMemcpyNode),
          TENON_ENTRY(cudaGraphAddMemcpyNode1D),
          TENON_ENTRY(cudaGraphAddMemsetNode),
          TENON_ENTRY(cudaGraphAddHostNode),
          TENON_ENTRY(cudaGraphAddChildGraphNode),
          TENON_ENTRY(cudaGraphAddEventRecordNode),
          TENON_ENTRY(cudaGraphAddEventWaitNode),
          TENON_ENTRY(cudaGraphAddMemAllocNode),
          TENON_ENTRY(cudaGraphAddMemFreeNode),
          TENON_ENTRY_AS("cudaGraphAddNode", cudaGraphAddNode, 13, 13),
          TENON_ENTRY_AS("cudaGraphAddNode", graphAddNode12, 12, 12),
          TENON_ENTRY_AS("cudaGraphAddNode_v2", cudaGraphAddNode, 12, 12),
          TENON_ENTRY(cudaGraphNodeGetType),
          TENON_ENTRY(cudaGraphMemcpyNodeGetParams),
          TENON_ENTRY(cudaGraphMemcpyNodeSetParams),
          TENON_ENTRY(cudaGraphMemcpyNodeSetParams1D),
          TENON_ENTRY(cudaGraphMemsetNodeGetParams),
          TENON_ENTRY(cudaGraphMemsetNodeSetParams),
          TENON_ENTRY(cudaGraphHostNodeGetParams),
          TENON_ENTRY(cudaGraphHostNodeSetParams),
          TENON_ENTRY(cudaGraphChildGraphNodeGetGraph),
          TENON_ENTRY(cudaGraphEventRecordNodeGetEvent),
          TENON_ENTRY(cudaGraphEventRecordNodeSetEvent),
          TENON_ENTRY(cudaGraphEventWaitNodeGetEvent),
          TENON_ENTRY(cudaGraphEventWaitNodeSetEvent),
          TENON_ENTRY(cudaGraphMemAllocNodeGetParams),
          TENON_ENTRY(cudaGraphMemFreeNodeGetParams),
          TENON_ENTRY(cudaGraphNodeSetParams)};
}

}  // namespace tenon::hostcuda
