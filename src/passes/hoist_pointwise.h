// Pointwise nodes move before reshapes and concatenations, next to the contraction that can fuse them.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int hoistPointwise(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
