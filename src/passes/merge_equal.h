// Nodes that compute the same from the same inputs become one.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int mergeEqual(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
