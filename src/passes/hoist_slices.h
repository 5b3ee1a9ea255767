// Slices of rows before what computes the rows.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int hoistSlices(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
