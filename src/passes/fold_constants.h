// Nodes whose inputs are all constant become constants (recipes, so that new weights can go through them), and values
// whose contents are known integers become constants.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int foldConstants(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
