// Gathers with constant indices.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int simplifyGathers(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
