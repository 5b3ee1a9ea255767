// A zero-filling slice before a convolution becomes its padding.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int foldPadding(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
