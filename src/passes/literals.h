// Constants of one element that pointwise nodes read become literals of their expressions.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int literals(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
