// Values that are quantized and at once brought back stay floating.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int simulateQuantization(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
