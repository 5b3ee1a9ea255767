// normalization(h + r, s, t) => normalization{skip}(h, s, t, r).
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

// On GPUs. Who else reads the sum reads it as the normalization's second output.
int joinSkip(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
