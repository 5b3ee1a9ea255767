// Movement of whole rows behind products of rows.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int sinkRows(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
