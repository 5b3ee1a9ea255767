// The pointwise node before a reduction becomes its prologue.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

int fusePrologue(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
