// Tensors that are only repeated.
#pragma once

#include "graph/graph.h"

namespace tenon::passes {

// The tensor that a slice only repeats along axes of one element; the value itself where none does.
graph::ValueId unstretched(const graph::Graph& graph, graph::ValueId value);

}  // namespace tenon::passes
