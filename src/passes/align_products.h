// Transposes the weights of matmuls whose rows are not aligned for tensor cores.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int alignProducts(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
