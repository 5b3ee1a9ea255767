// Folds constant per-channel scales and shifts after a convolution or matmul into its weights and bias.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int foldAffine(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
