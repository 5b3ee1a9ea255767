// Small questions that several passes ask of a graph.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace tenon::passes {

// The only use of a value that is no output and carries no demand of the user; nothing otherwise.
std::optional<graph::Use> onlyUse(const graph::Graph& graph, const std::vector<std::vector<graph::Use>>& uses, graph::ValueId value);

// Whether a constant varies along one axis only of a tensor of the given shape, when broadcast to it (or not at all):
// its dims, aligned at the right, are 1 everywhere but at `axis`, where they are 1 or the extent.
bool variesAlong(const Dims& constant, const Shape& shape, int axis);

// The constant as a vector: rank 1, of 1 or `extent` elements. A reshape recipe.
graph::ConstantPtr asVector(const graph::ConstantPtr& constant);

}  // namespace tenon::passes
