// Attention as exporters write it out becomes one node.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int findAttention(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
