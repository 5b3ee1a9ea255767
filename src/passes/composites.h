// Nodes that one kernel computes faster together become one composite node.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "passes/pipeline.h"

namespace tenon::passes {

// Whether the device has kernels for the nodes of an edit that is not committed yet, and they are faster than those
// whose place they would take.
using Pays = std::function<bool(const graph::Graph& graph, std::span<const graph::NodeId> made,
                                std::span<const graph::NodeId> instead)>;

// Convolutions of one input, of one window and stride => composite{convolution, convolution, ...}, an output of each.
int joinBranches(graph::Graph& graph, const Pays& pays);

// max(x), min(x), .. over the same axes => composite{reduce, reduce, ..}(x), an output of each.
int joinReductions(graph::Graph& graph, const Pays& pays);

// convolution(cast(x), w) of an image of few channels => composite{cast, convolution}(x, w).
int joinCast(graph::Graph& graph, const Pays& pays);

// The maximum over windows of a convolution of an image of few channels, in halves => composite{convolution,
// pooling}(x, w), or composite{cast, convolution, pooling}(x, w) behind joinCast().
int joinPooling(graph::Graph& graph, const Pays& pays);

// x = matmul(u, v), y = matmul(normalization(x, s, t), w) => x, m = composite{matmul, row_moments}(u, v),
// y = composite{normalize_rows, matmul}(x, m, s, t, w), whose second output is the normalized x where others read it. A
// sum that the normalization computes returns to the product in front.
int joinNormalization(graph::Graph& graph, const Pays& pays);

// y = normalization(matmul(u, v), s, t) over the rows => y = composite{matmul, normalization}(u, v, s, t), whose second
// output is the product where others read it. A sum that the normalization computes returns to the product.
int joinRows(graph::Graph& graph, const Pays& pays);

// convolution(convolution(mean of x's pixels, v), w), and a scalar operator over that and x => composite{reduce,
// convolution, convolution, pointwise}(x, v, w): squeeze-and-excitation of halves.
int joinExcitation(graph::Graph& graph, const Pays& pays);

// y = convolution(x, w, .., p) where p = convolution(u, v, b) of one bias is an operand of the epilogue, of halves =>
// composite{convolution, convolution}(u, v, b, x, w, ..): the end of a residual block whose residual is a projection.
int joinProjection(graph::Graph& graph, const Pays& pays);

// y = convolution(convolution(x, w, b), v, c), of single pixels and of each channel by itself, of halves =>
// composite{convolution, convolution}(x, w, b, v, c): the wide part of an inverted bottleneck.
int joinExpansion(graph::Graph& graph, const Pays& pays);

// All joins for the options' device, once: after the pipeline, because composites hide their parts from its passes.
// TENON_DISABLE leaves them out by name, TENON_DUMP writes what they leave.
void runJoins(graph::Graph& graph, const Options& options, const Pays& pays);
std::vector<std::string_view> joinNames();  // of all devices

}  // namespace tenon::passes
