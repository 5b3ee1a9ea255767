// Patchify convolutions (stride = kernel) become matmuls after space-to-depth.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int patchProducts(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
