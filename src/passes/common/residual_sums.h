// Residual sums as part of the normalization behind them.
#pragma once

#include "graph/graph.h"
#include "passes/pipeline.h"

namespace tenon::passes {

// normalization(h + r, s, t) => normalization{skip}(h, s, t, r), with the sum as second output where others read it: on
// GPUs a product that adds r in its epilogue is slower by more than the normalization is by reading r. Of many rows it
// is not, so that sums which a product computes stay as they are; where it `mayWait`, also those that may come to stand
// behind a product. The number of edits.
int joinSums(graph::Graph& graph, const Options& options, bool mayWait);

}  // namespace tenon::passes
