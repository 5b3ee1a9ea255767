// Resizes and max pooling move after pointwise nodes that they commute with.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int sinkWindows(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
