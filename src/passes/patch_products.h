// Convolutions over patches that do not overlap become products of rows.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int patchProducts(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
