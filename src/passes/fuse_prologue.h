// Reductions compute the pointwise node in front of them.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int fusePrologue(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
