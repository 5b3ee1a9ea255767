// Between graphs and the regions that operators own.
#pragma once

#include <span>

#include "graph/graph.h"
#include "ops/region.h"

namespace tenon::graph {

// The region that computes `outputs` of a graph from `inputs`, which become its inputs in this order: inputs and
// constants of the graph, all that the outputs need. Nodes that the outputs do not need are left out.
ops::Region closeRegion(const Graph& graph, std::span<const ValueId> inputs, std::span<const ValueId> outputs);

// A region has no shape program: sizes (ops/op/size.h) under the names of its symbols take its place.
void replaceShapeProgram(Graph& graph);

// Adds the region's nodes to a graph, with `inputs` of it as the inputs of the region; the values of its outputs.
std::vector<ValueId> openRegion(Graph& graph, const ops::Region& region, std::span<const ValueId> inputs);

// Which values these outputs depend on, themselves included: by id.
std::vector<bool> neededValues(const Graph& graph, std::span<const ValueId> outputs);

// The constants that these outputs need, in order of their ids.
std::vector<ValueId> neededConstants(const Graph& graph, std::span<const ValueId> outputs);

}  // namespace tenon::graph
