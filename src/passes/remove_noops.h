// Nodes that change nothing go: identities, casts to the same type, reshapes and transposes to the same, full slices.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int removeNoops(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
