// Reductions of reductions become one, and average pooling of whole images a reduction.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int mergeReductions(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
