// Masks of attention without the axes that they are the same along.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int narrowMasks(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
