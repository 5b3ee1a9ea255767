// Scales and shifts by constants per channel behind a convolution or matmul go into its weights and bias.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int foldAffine(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
