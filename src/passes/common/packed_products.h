// Constant operands of sibling matmuls, concatenated: the operand of the fused matmul.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace tenon::passes {

// Whether a node is a product with one constant matrix, and whatever its epilogue reads are constants along the
// columns, of which there is a known number.
bool isPackable(const graph::Graph& graph, graph::NodeId id);

// Whether two packable nodes compute alike, from one input, except for their constants and numbers of columns.
bool packTogether(const graph::Graph& graph, graph::NodeId a, graph::NodeId b);

// Operands of the product that computes the columns of all of these, one after the other.
std::vector<graph::ValueId> packOperands(const graph::Graph& graph, graph::Patch& patch,
                                         std::span<const graph::NodeId> products);

}  // namespace tenon::passes
