// Phases: which nodes can run before the device has computed which sizes.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "ops/op/size.h"
#include "ops/shape_binder.h"

namespace tenon::graph {

struct Phases {
  std::vector<int32_t> ofNode;  // by id; 0: needs no size
  ops::SymbolPhases known;      // by symbol that depends on a size: the first phase that knows it
  std::vector<NodeId> sizes;    // nodes of sizes that something needs, in the order in which they are known
  int32_t count = 1;
};

// A node's phase is the first one in which its operands and the symbols of its fields and extents are known: as few
// phases as there can be, each as long as it can be. Throws InternalError when a size depends on itself.
Phases phasesOf(const Graph& graph);

// Nodes of earlier phases come first; within one the order stays.
void sortByPhases(Graph& graph, const Phases& phases);

// The number that the node of a size has computed becomes a symbol, and with it what follows from it. UserError when it
// is outside of its bounds.
void bindSize(const Graph& graph, const Node& node, const TensorView& number, SymbolValues& symbols);

inline const ops::Size& sizeOf(const Graph& graph, NodeId id) { return *graph.node(id).op.as<ops::Size>(); }

}  // namespace tenon::graph
