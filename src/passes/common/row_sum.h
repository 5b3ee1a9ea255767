// Products whose results are normalized along their rows.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "ops/op/matmul.h"

namespace tenon::passes {

// A matmul with constant weights that is not transposed, else null.
const ops::MatMul* productWithWeights(const graph::Graph& graph, graph::NodeId id);

// Whether a node is a normalization along the last axis, by vectors of constants.
bool normalizesRows(const graph::Graph& graph, graph::NodeId id);

// The product in front of such a normalization, with what that adds to it in the epilogue.
struct RowSum {
  graph::NodeId product = graph::kNone;
  ops::Operator op = ops::MatMul{};
  std::vector<graph::ValueId> inputs;
};
std::optional<RowSum> rowSumOf(const graph::Graph& graph, graph::NodeId normalization);

}  // namespace tenon::passes
