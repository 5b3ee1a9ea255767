// Chains of movement that a roll is part of become one copy of rows.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int gatherRows(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
