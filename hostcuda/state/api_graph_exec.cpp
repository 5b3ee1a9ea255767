// Executable graphs as API calls: instantiation, changes, launch.
#include "node_params.h"

namespace tenon::hostcuda {
namespace api {
namespace {

// The body with the lock; `dropped` dies after the lock, as it may call the user's release functions.
template <class Body>
cudaError_t withExec(cudaGraphExec_t handle, Body&& body) {
  std::shared_ptr<const Program> dropped;
  return guarded([&] {
    const Lock lock = Scheduler::instance().lock();
    const std::shared_ptr<GraphExec> exec = Graphs::instance().exec(handle);
    dropped = exec->program;
    body(*exec);
  });
}

size_t stepOf(const GraphExec& exec, cudaGraphNode_t node) {
  const std::vector<Step>& steps = exec.program->steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].node == reinterpret_cast<const Node*>(node)) return i;
  }
  fail(cudaErrorInvalidValue);
}

// Launches that are under way keep the program as it was.
template <class Change>
cudaError_t changeStep(cudaGraphExec_t handle, cudaGraphNode_t node, cudaGraphNodeType type, Change&& change) {
  return withExec(handle, [&](GraphExec& exec) {
    const size_t index = stepOf(exec, node);
    require(exec.program->steps[index].type == type);
    auto changed = std::make_shared<Program>(*exec.program);
    change(changed->steps[index]);
    exec.program = std::move(changed);
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return guarded([&] {
    require(exec != nullptr);
    const Lock lock = Scheduler::instance().lock();
    *exec = Graphs::instance().instantiate(*Graphs::instance().get(graph), flags)->handle();
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return api::cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
  if (params == nullptr) return report(cudaErrorInvalidValue);
  const cudaError_t error = api::cudaGraphInstantiate(exec, graph, params->flags);
  params->errNode_out = nullptr;
  params->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return error;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long* flags) {
  return withExec(handle, [&](GraphExec& exec) {
    require(flags != nullptr);
    *flags = exec.flags;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  std::shared_ptr<GraphExec> dropped;
  return guarded([&] {
    const Lock lock = Scheduler::instance().lock();
    dropped = Graphs::instance().removeExec(handle);
  });
}

cudaGraphExecUpdateResult compare(const Program& before, const Program& after, size_t& index) {
  if (before.steps.size() != after.steps.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  for (index = 0; index < before.steps.size(); ++index) {
    if (before.steps[index].type != after.steps[index].type) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (before.steps[index].dependencies != after.steps[index].dependencies) {
      return cudaGraphExecUpdateErrorTopologyChanged;
    }
  }
  return cudaGraphExecUpdateSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  return withExec(handle, [&](GraphExec& exec) {
    require(info != nullptr);
    *info = cudaGraphExecUpdateResultInfo{cudaGraphExecUpdateError, nullptr, nullptr};
    const std::shared_ptr<Program> after = Graphs::instance().compile(*Graphs::instance().get(graph));
    size_t index = 0;
    info->result = compare(*exec.program, *after, index);
    if (info->result == cudaGraphExecUpdateSuccess) {
      // Later updates still name the nodes of the graph that was instantiated.
      for (size_t i = 0; i < after->steps.size(); ++i) {
        after->steps[i].node = exec.program->steps[i].node;
        after->steps[i].isEnabled = exec.program->steps[i].isEnabled;
      }
      exec.program = after;
      return;
    }
    if (index < after->steps.size()) {
      info->errorNode = const_cast<Node*>(after->steps[index].node)->handle();
    }
    fail(cudaErrorGraphExecUpdateFailure);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* params) {
  return changeStep(exec, node, cudaGraphNodeTypeMemcpy, [&](Step& step) { step.work = copyWork(params); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* destination,
                                               const void* source, size_t count, cudaMemcpyKind kind) {
  return changeStep(exec, node, cudaGraphNodeTypeMemcpy,
                    [&](Step& step) { step.work = linearCopyWork(destination, source, count, kind); });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* params) {
  return changeStep(exec, node, cudaGraphNodeTypeMemset, [&](Step& step) { step.work = fillWork(params); });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* params) {
  return changeStep(exec, node, cudaGraphNodeTypeHost, [&](Step& step) { step.work = hostWork(params); });
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
  return changeStep(exec, node, cudaGraphNodeTypeEventRecord, [&](Step& step) { step.work = recordWork(event); });
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
  return changeStep(exec, node, cudaGraphNodeTypeWaitEvent, [&](Step& step) { step.work = awaitWork(event); });
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
  return changeStep(exec, node, cudaGraphNodeTypeGraph, [&](Step& step) {
    const std::shared_ptr<Program> after = Graphs::instance().compile(*Graphs::instance().get(child));
    size_t index = 0;
    const auto* before = std::get_if<RunProgram>(&step.work);
    require(before != nullptr && compare(*before->program, *after, index) == cudaGraphExecUpdateSuccess);
    step.work = RunProgram{after};
  });
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams* params) {
  if (params == nullptr) return report(cudaErrorInvalidValue);
  if (params->type == cudaGraphNodeTypeGraph) {
    return api::cudaGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
  }
  return changeStep(exec, node, params->type, [&](Step& step) {
    require(params->type != cudaGraphNodeTypeMemAlloc, cudaErrorNotSupported);
    step.work = generalWork(params);
  });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t handle, cudaGraphNode_t node, unsigned int enabled) {
  return withExec(handle, [&](GraphExec& exec) {
    const size_t index = stepOf(exec, node);
    const cudaGraphNodeType type = exec.program->steps[index].type;
    require(type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset);
    auto changed = std::make_shared<Program>(*exec.program);
    changed->steps[index].isEnabled = enabled != 0;
    exec.program = std::move(changed);
  });
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t handle, cudaGraphNode_t node, unsigned int* enabled) {
  return withExec(handle, [&](GraphExec& exec) {
    require(enabled != nullptr);
    *enabled = exec.program->steps[stepOf(exec, node)].isEnabled ? 1 : 0;
  });
}

// There is no second memory to bring the graph to.
cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t streamHandle) {
  return withExec(handle, [&](GraphExec&) { refuseImplicitDependency(Scheduler::instance().stream(streamHandle)); });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t streamHandle) {
  return guarded([&] {
    Lock lock = Scheduler::instance().lock();
    const std::shared_ptr<GraphExec> exec = Graphs::instance().exec(handle);
    putGraph(lock, Scheduler::instance().stream(streamHandle), exec);
  });
}

}  // namespace
}  // namespace api

Entries graphExecEntries() {
  return {TENON_ENTRY(cudaGraphInstantiate),
          TENON_ENTRY(cudaGraphInstantiateWithFlags),
          TENON_STREAM_ENTRY(cudaGraphInstantiateWithParams),
          TENON_ENTRY(cudaGraphExecGetFlags),
          TENON_ENTRY(cudaGraphExecDestroy),
          TENON_ENTRY(cudaGraphExecUpdate),
          TENON_ENTRY(cudaGraphExecMemcpyNodeSetParams),
          TENON_ENTRY(cudaGraphExecMemcpyNodeSetParams1D),
          TENON_ENTRY(cudaGraphExecMemsetNodeSetParams),
          TENON_ENTRY(cudaGraphExecHostNodeSetParams),
          TENON_ENTRY(cudaGraphExecEventRecordNodeSetEvent),
          TENON_ENTRY(cudaGraphExecEventWaitNodeSetEvent),
          TENON_ENTRY(cudaGraphExecChildGraphNodeSetParams),
          TENON_ENTRY(cudaGraphExecNodeSetParams),
          TENON_ENTRY(cudaGraphNodeSetEnabled),
          TENON_ENTRY(cudaGraphNodeGetEnabled),
          TENON_STREAM_ENTRY(cudaGraphUpload),
          TENON_STREAM_ENTRY(cudaGraphLaunch)};
}

}  // namespace tenon::hostcuda
