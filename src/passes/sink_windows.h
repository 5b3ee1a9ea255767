// Resizes and maxima of windows go behind scalar work that does not mind.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int sinkWindows(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
