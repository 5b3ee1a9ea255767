// Horizontal fusion: matmuls of one row with several constant matrices become one matmul.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int mergeProducts(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
