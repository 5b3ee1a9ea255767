// Chains of scales and shifts within a pointwise node become one scale and one shift, and those before
// matmuls are folded into their weights.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int mergeAffine(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
