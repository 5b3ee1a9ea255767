// The pipeline for a graph that is changed again before it is built.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

// As run(), without the last passes: nothing looks into what they make, and another run follows.
void runFirst(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
