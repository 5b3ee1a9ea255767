// Movement of whole rows commutes with matmuls: it moves after them.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int sinkRows(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
