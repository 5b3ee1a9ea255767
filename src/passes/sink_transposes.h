// Transposes move after pointwise nodes and reductions, into matmuls, and out of channel shuffles.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int sinkTransposes(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
