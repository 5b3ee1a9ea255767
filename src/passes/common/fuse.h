// What passes share that make one node of two.
#pragma once

#include <vector>

#include "passes/common/pass.h"
#include "passes/pipeline.h"

namespace tenon::passes {

// Whether an input of a node may stand for its output when the node goes: an output of the network that would become
// one of its inputs, or a second name for an output, stays a copy, and so does what is looked at.
bool mayStandFor(const graph::Graph& graph, graph::ValueId input, graph::ValueId output);

// Whether a kernel can take an expression of so many operands: the limits of the pointwise kernels of the backends.
bool hasRoom(const ops::ScalarExpr& expr, size_t inputs);

// A node that computes what `last` gives takes its place and that of the others in `from`; its name is made of theirs.
// False, and nothing changes, where the device has no kernel for it.
bool replaceByFused(graph::Graph& graph, const ops::Operator& fused, std::vector<graph::ValueId> inputs,
                    std::span<const graph::NodeId> from, graph::NodeId last, const Options& options);

}  // namespace tenon::passes
