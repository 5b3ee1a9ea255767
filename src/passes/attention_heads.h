// Attention that reads and writes the columns of its heads where they are.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int attentionHeads(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
