// Scalar work on a concatenation is done while its parts are copied.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int fuseConcat(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
