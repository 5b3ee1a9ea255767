// Weights of products in the order that tensor cores read in whole packs.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int alignProducts(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
