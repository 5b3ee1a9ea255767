// (x + c) + d => x + (c + d) for constants.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

// Tables added one after the other, as those of positions and segments; vectors along an axis are for merge_affine.
int mergeConstants(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
