// Attention reads the keys and values that several heads share where they are.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int groupQueries(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
