// Products of one row with several constant matrices, as one product.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int mergeProducts(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
