// Horizontal fusion: the matmuls that compute queries, keys and values of an attention become one.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int packAttention(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
