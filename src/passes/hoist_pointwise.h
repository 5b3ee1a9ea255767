// Pointwise nodes move in front of reshapes and concatenations, next to the contraction that can take them.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int hoistPointwise(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
