// Slices of slices and of concatenations, concatenations of slices and of concatenations become fewer nodes.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int mergeSlices(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
