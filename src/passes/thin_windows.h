// Windows whose weights are zero between the taps become dilated ones.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int thinWindows(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
