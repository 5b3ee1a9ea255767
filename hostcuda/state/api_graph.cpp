// Graphs as API calls: creation, structure, edges, user objects.
#include <algorithm>
#include <cstdio>

#include "capture.h"
#include "table.h"

namespace tenon::hostcuda {
namespace api {
namespace {

// The body with the lock; what it stores in `dropped` dies after the lock.
template <class Body>
cudaError_t withGraphs(Body&& body) {
  std::vector<std::shared_ptr<void>> dropped;
  return guarded([&] {
    const Lock lock = Scheduler::instance().lock();
    body(Graphs::instance(), dropped);
  });
}
using Dropped = std::vector<std::shared_ptr<void>>;

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    require(graph != nullptr && flags == 0);
    *graph = graphs.create()->handle();
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return withGraphs([&](Graphs& graphs, Dropped& dropped) { dropped.push_back(graphs.remove(graph)); });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    require(clone != nullptr);
    *clone = graphs.clone(*graphs.get(original))->handle();
  });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* found, cudaGraphNode_t original, cudaGraph_t clone) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    require(found != nullptr);
    const Node& wanted = graphs.node(original);
    for (const auto& node : graphs.get(clone)->nodes) {
      if (node->clonedFrom == &wanted) {
        *found = node->handle();
        return;
      }
    }
    fail(cudaErrorInvalidValue);
  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return withGraphs(
      [&](Graphs& graphs, Dropped& dropped) { dropped.push_back(std::shared_ptr<Node>(graphs.removeNode(node))); });
}

// The convention of all queries: a null array asks for the count; a longer array is filled up with nulls.
template <class Handle>
void listHandles(const std::vector<Handle>& handles, Handle* out, size_t* count) {
  require(count != nullptr);
  if (out != nullptr) {
    for (size_t i = 0; i < *count; ++i) out[i] = i < handles.size() ? handles[i] : nullptr;
    *count = std::min(*count, handles.size());
  } else {
    *count = handles.size();
  }
}

template <class Range>
std::vector<cudaGraphNode_t> handlesOf(const Range& nodes) {
  std::vector<cudaGraphNode_t> handles;
  for (const auto& node : nodes) handles.push_back(node->handle());
  return handles;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return withGraphs([&](Graphs& graphs, Dropped&) { listHandles(handlesOf(graphs.get(graph)->nodes), nodes, count); });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    std::vector<cudaGraphNode_t> roots;
    for (const auto& node : graphs.get(graph)->nodes) {
      if (node->dependencies.empty()) roots.push_back(node->handle());
    }
    listHandles(roots, nodes, count);
  });
}

void clearEdges(cudaGraphEdgeData* edges, const size_t* count) {
  if (edges == nullptr || count == nullptr) return;
  for (size_t i = 0; i < *count; ++i) edges[i] = cudaGraphEdgeData{};
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                              size_t* count) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    require(count != nullptr && (from == nullptr) == (to == nullptr));
    std::vector<cudaGraphNode_t> sources;
    std::vector<cudaGraphNode_t> targets;
    for (const auto& node : graphs.get(graph)->nodes) {
      for (Node* next : node->dependents) {
        sources.push_back(node->handle());
        targets.push_back(next->handle());
      }
    }
    size_t same = *count;
    listHandles(sources, from, &same);
    listHandles(targets, to, count);
    clearEdges(edges, count);
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                         size_t* count) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    listHandles(handlesOf(graphs.node(node).dependencies), nodes, count);
    if (nodes != nullptr) clearEdges(edges, count);
  });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                           size_t* count) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    listHandles(handlesOf(graphs.node(node).dependents), nodes, count);
    if (nodes != nullptr) clearEdges(edges, count);
  });
}

// Without edge data, as CUDA 12 names them first.
cudaError_t graphGetEdges12(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  return api::cudaGraphGetEdges(graph, from, to, nullptr, count);
}
cudaError_t graphNodeGetDependencies12(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  return api::cudaGraphNodeGetDependencies(node, nodes, nullptr, count);
}
cudaError_t graphNodeGetDependentNodes12(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  return api::cudaGraphNodeGetDependentNodes(node, nodes, nullptr, count);
}

bool isConnected(const Node& from, const Node& to) {
  return std::find(to.dependencies.begin(), to.dependencies.end(), &from) != to.dependencies.end();
}

// All pairs are checked before the first edge changes.
cudaError_t changeEdges(cudaGraph_t graphHandle, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count,
                        bool isAdding) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    const std::shared_ptr<Graph> graph = graphs.get(graphHandle);
    const std::vector<Node*> sources = graphs.nodes(*graph, from, count);
    const std::vector<Node*> targets = graphs.nodes(*graph, to, count);
    for (size_t i = 0; i < count; ++i) {
      require(sources[i] != targets[i] && isConnected(*sources[i], *targets[i]) != isAdding);
    }
    for (size_t i = 0; i < count; ++i) {
      if (isAdding) {
        connect(*sources[i], *targets[i]);
      } else {
        disconnect(*sources[i], *targets[i]);
      }
    }
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, size_t count) {
  return changeEdges(graph, from, to, count, true);
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData*, size_t count) {
  return changeEdges(graph, from, to, count, false);
}
cudaError_t graphAddDependencies12(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                   size_t count) {
  return changeEdges(graph, from, to, count, true);
}
cudaError_t graphRemoveDependencies12(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                      size_t count) {
  return changeEdges(graph, from, to, count, false);
}

const char* typeName(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel: return "WORK";
    case cudaGraphNodeTypeMemcpy: return "MEMCPY";
    case cudaGraphNodeTypeMemset: return "MEMSET";
    case cudaGraphNodeTypeHost: return "HOST";
    case cudaGraphNodeTypeGraph: return "GRAPH";
    case cudaGraphNodeTypeWaitEvent: return "EVENT_WAIT";
    case cudaGraphNodeTypeEventRecord: return "EVENT_RECORD";
    case cudaGraphNodeTypeMemAlloc: return "MEM_ALLOC";
    case cudaGraphNodeTypeMemFree: return "MEM_FREE";
    default: return "EMPTY";
  }
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t handle, const char* path, unsigned int) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    require(path != nullptr);
    const std::shared_ptr<Graph> graph = graphs.get(handle);
    std::FILE* file = std::fopen(path, "we");
    require(file != nullptr, cudaErrorOperatingSystem);
    std::fputs("digraph graph_1 {\n", file);
    for (const auto& node : graph->nodes) {
      std::fprintf(file, "  n%llu [label=\"%llu %s\"];\n", static_cast<unsigned long long>(node->id),
                   static_cast<unsigned long long>(node->id), typeName(nodeType(node->work)));
      for (const Node* next : node->dependents) {
        std::fprintf(file, "  n%llu -> n%llu;\n", static_cast<unsigned long long>(node->id),
                     static_cast<unsigned long long>(next->id));
      }
    }
    std::fputs("}\n", file);
    require(std::fclose(file) == 0, cudaErrorOperatingSystem);
  });
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned int initialCount, unsigned int flags) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    require(object != nullptr && destroy != nullptr && initialCount > 0);
    require(flags == cudaUserObjectNoDestructorSync);
    *object = graphs.addUserObject(pointer, destroy, initialCount);
  });
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
  return withGraphs([&](Graphs& graphs, Dropped&) {
    require(count > 0);
    const std::shared_ptr<UserObject> reference = graphs.anyReference(object);
    auto& references = graphs.userObject(object);
    references.insert(references.end(), count, reference);
  });
}

// Moves references out, to be dropped after the lock: the last one calls the user's destroy function.
void dropReferences(std::vector<std::shared_ptr<UserObject>>& references, unsigned count, Dropped& dropped) {
  require(count > 0 && references.size() >= count);
  for (unsigned i = 0; i < count; ++i) {
    dropped.push_back(std::move(references.back()));
    references.pop_back();
  }
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
  return withGraphs(
      [&](Graphs& graphs, Dropped& dropped) { dropReferences(graphs.userObject(object), count, dropped); });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t handle, cudaUserObject_t object, unsigned int count,
                                      unsigned int flags) {
  return withGraphs([&](Graphs& graphs, Dropped& dropped) {
    require(count > 0 && (flags & ~static_cast<unsigned>(cudaGraphUserObjectMove)) == 0);
    const std::shared_ptr<Graph> graph = graphs.get(handle);
    const std::shared_ptr<UserObject> reference = graphs.anyReference(object);
    if (flags == cudaGraphUserObjectMove) dropReferences(graphs.userObject(object), count, dropped);
    auto& kept = graph->userObjects[reference.get()];
    kept.insert(kept.end(), count, reference);
  });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t handle, cudaUserObject_t object, unsigned int count) {
  return withGraphs([&](Graphs& graphs, Dropped& dropped) {
    const std::shared_ptr<Graph> graph = graphs.get(handle);
    const auto kept = graph->userObjects.find(graphs.anyReference(object).get());
    require(kept != graph->userObjects.end());
    dropReferences(kept->second, count, dropped);
  });
}

}  // namespace
}  // namespace api

Entries graphEntries() {
  return {TENON_ENTRY(cudaGraphCreate),
          TENON_ENTRY(cudaGraphDestroy),
          TENON_ENTRY(cudaGraphClone),
          TENON_ENTRY(cudaGraphNodeFindInClone),
          TENON_ENTRY(cudaGraphDestroyNode),
          TENON_ENTRY(cudaGraphGetNodes),
          TENON_ENTRY(cudaGraphGetRootNodes),
          TENON_ENTRY_AS("cudaGraphGetEdges", cudaGraphGetEdges, 13, 13),
          TENON_ENTRY_AS("cudaGraphGetEdges", graphGetEdges12, 12, 12),
          TENON_ENTRY_AS("cudaGraphGetEdges_v2", cudaGraphGetEdges, 12, 12),
          TENON_ENTRY_AS("cudaGraphNodeGetDependencies", cudaGraphNodeGetDependencies, 13, 13),
          TENON_ENTRY_AS("cudaGraphNodeGetDependencies", graphNodeGetDependencies12, 12, 12),
          TENON_ENTRY_AS("cudaGraphNodeGetDependencies_v2", cudaGraphNodeGetDependencies, 12, 12),
          TENON_ENTRY_AS("cudaGraphNodeGetDependentNodes", cudaGraphNodeGetDependentNodes, 13, 13),
          TENON_ENTRY_AS("cudaGraphNodeGetDependentNodes", graphNodeGetDependentNodes12, 12, 12),
          TENON_ENTRY_AS("cudaGraphNodeGetDependentNodes_v2", cudaGraphNodeGetDependentNodes, 12, 12),
          TENON_ENTRY_AS("cudaGraphAddDependencies", cudaGraphAddDependencies, 13, 13),
          TENON_ENTRY_AS("cudaGraphAddDependencies", graphAddDependencies12, 12, 12),
          TENON_ENTRY_AS("cudaGraphAddDependencies_v2", cudaGraphAddDependencies, 12, 12),
          TENON_ENTRY_AS("cudaGraphRemoveDependencies", cudaGraphRemoveDependencies, 13, 13),
          TENON_ENTRY_AS("cudaGraphRemoveDependencies", graphRemoveDependencies12, 12, 12),
          TENON_ENTRY_AS("cudaGraphRemoveDependencies_v2", cudaGraphRemoveDependencies, 12, 12),
          TENON_ENTRY(cudaGraphDebugDotPrint),
          TENON_ENTRY(cudaUserObjectCreate),
          TENON_ENTRY(cudaUserObjectRetain),
          TENON_ENTRY(cudaUserObjectRelease),
          TENON_ENTRY(cudaGraphRetainUserObject),
          TENON_ENTRY(cudaGraphReleaseUserObject)};
}

}  // namespace tenon::hostcuda
