// A pointwise node after a convolution or matmul becomes its epilogue.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int fuseEpilogue(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
