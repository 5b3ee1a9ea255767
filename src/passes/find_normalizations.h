// Layer, instance and group normalization as exporters write them out become one node.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int findNormalizations(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
