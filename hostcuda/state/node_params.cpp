// Checks and converts the parameters of graph nodes.
#include "node_params.h"

#include "memory.h"

namespace tenon::hostcuda {

WorkItem copyWork(const cudaMemcpy3DParms* params) {
  require(params != nullptr);
  require(params->srcArray == nullptr && params->dstArray == nullptr, cudaErrorNotSupported);
  require(params->srcPtr.ptr != nullptr && params->dstPtr.ptr != nullptr);
  require(params->extent.width > 0 && params->extent.height > 0 && params->extent.depth > 0);
  return Copy{*params};
}

WorkItem linearCopyWork(void* destination, const void* source, size_t count, cudaMemcpyKind kind) {
  require(count == 0 || (destination != nullptr && source != nullptr));
  MemoryRegistry::instance().checkRange(destination, count);
  MemoryRegistry::instance().checkRange(source, count);
  return linearCopy(destination, source, count, kind);
}

WorkItem fillWork(const cudaMemsetParams* params) {
  require(params != nullptr && params->dst != nullptr);
  require(params->elementSize == 1 || params->elementSize == 2 || params->elementSize == 4);
  return Fill{*params, 1, 0};
}

WorkItem hostWork(const cudaHostNodeParams* params) {
  require(params != nullptr && params->fn != nullptr);
  return HostCall{*params};
}

WorkItem childWork(cudaGraph_t child) {
  Graphs& graphs = Graphs::instance();
  std::shared_ptr<Graph> copy = graphs.clone(*graphs.get(child));
  copy->isChild = true;
  return ChildGraph{std::move(copy)};
}

WorkItem recordWork(cudaEvent_t event) { return RecordEvent{Scheduler::instance().event(event)}; }
WorkItem awaitWork(cudaEvent_t event) { return AwaitEvent{Scheduler::instance().event(event)}; }

WorkItem generalWork(cudaGraphNodeParams* params) {
  require(params != nullptr);
  switch (params->type) {
    case cudaGraphNodeTypeKernel: failKernel();
    case cudaGraphNodeTypeMemcpy: return copyWork(&params->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParamsV2& p = params->memset;
      const cudaMemsetParams same{p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
      return fillWork(&same);
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams same{params->host.fn, params->host.userData};
      return hostWork(&same);
    }
    case cudaGraphNodeTypeGraph: return childWork(params->graph.graph);
    case cudaGraphNodeTypeEmpty: return Nothing{};
    case cudaGraphNodeTypeWaitEvent: return awaitWork(params->eventWait.event);
    case cudaGraphNodeTypeEventRecord: return recordWork(params->eventRecord.event);
    case cudaGraphNodeTypeMemAlloc: {
      require(params->alloc.bytesize > 0);
      auto allocation = std::make_shared<GraphAllocation>(params->alloc.bytesize);
      params->alloc.dptr = allocation->pointer;
      return Allocate{std::move(allocation)};
    }
    case cudaGraphNodeTypeMemFree: require(params->free.dptr != nullptr); return Deallocate{params->free.dptr};
    default: fail(cudaErrorNotSupported);
  }
}

}  // namespace tenon::hostcuda
