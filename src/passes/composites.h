// Nodes that one kernel computes faster together become one composite node.
#pragma once

#include <functional>
#include <span>

#include "passes/pipeline.h"

namespace tenon::passes {

// Whether the device has a kernel for a node that is in no graph yet (its inputs and outputs are values of `graph`),
// and it is faster than those whose place the node would take.
using Pays =
    std::function<bool(const graph::Graph& graph, const graph::Node& node, std::span<const graph::NodeId> instead)>;

// Convolutions of one input, of one window and stride => composite{convolution, convolution, ...}, an output of each.
int joinBranches(graph::Graph& graph, const Pays& pays);

// convolution(cast(x), w) of an image of few channels => composite{cast, convolution}(x, w).
int joinCast(graph::Graph& graph, const Pays& pays);

// All joins for the options' device, once: after the pipeline, because composites hide their parts from its passes.
// TENON_DISABLE leaves them out by the names join_branches (CPU) and join_cast (GPU), TENON_DUMP writes what they
// leave.
void runJoins(graph::Graph& graph, const Options& options, const Pays& pays);

}  // namespace tenon::passes
