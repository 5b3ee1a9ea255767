// Chains of reshapes, of transposes, and transposes that move no data become one node or a reshape.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int mergeMovement(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
