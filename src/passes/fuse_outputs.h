// Pointwise nodes that share operands become one with several outputs.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int fuseOutputs(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
