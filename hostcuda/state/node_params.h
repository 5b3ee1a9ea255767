// Graph node parameters of the API as work, and back; checked.
#pragma once

#include "capture.h"
#include "table.h"

namespace tenon::hostcuda {

WorkItem copyWork(const cudaMemcpy3DParms* params);
WorkItem linearCopyWork(void* destination, const void* source, size_t count, cudaMemcpyKind kind);
WorkItem fillWork(const cudaMemsetParams* params);
WorkItem hostWork(const cudaHostNodeParams* params);
WorkItem childWork(cudaGraph_t child);
WorkItem recordWork(cudaEvent_t event);
WorkItem awaitWork(cudaEvent_t event);
// Any kind, from the general structure. Fills in what the structure gives back (the address of an allocation).
WorkItem generalWork(cudaGraphNodeParams* params);

// The node's work as T, or InvalidValue.
template <class T>
T& workAs(Node& node) {
  T* work = std::get_if<T>(&node.work);
  require(work != nullptr);
  return *work;
}

// Says once per process what a kernel launch without a GPU means, and fails.
[[noreturn]] void failKernel();

}  // namespace tenon::hostcuda
