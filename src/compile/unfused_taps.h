// Debug tensors of what fusion has left.
#pragma once

#include <set>
#include <string>

#include "graph/graph.h"

namespace tenon::compile {

// Adds an UnfusedTap for each result of a node that is one of these tensors of the network. Called when nothing is
// fused any more, so that the taps do not change what is.
void tapUnfused(graph::Graph& graph, const std::set<std::string>& tensors);

}  // namespace tenon::compile
