// Nodes that become one composite node.
#pragma once

#include <span>
#include <vector>

#include "ops/op/composite.h"
#include "passes/composites.h"

namespace tenon::passes {

// One operator over what its nodes read, and the values that it computes in their place.
struct Joint {
  ops::Composite op;
  std::vector<graph::ValueId> inputs;
  std::vector<graph::ValueId> outputs;
};

// A node, which may be a composite whose last part computes its only result, and the one that alone reads that result,
// as its operand `operand`.
Joint chainOf(const graph::Graph& graph, graph::NodeId first, graph::NodeId second, size_t operand = 0);

// Nodes of one result each that do not read each other's: an output of each, and an operand of several once.
Joint sideBySide(const graph::Graph& graph, std::span<const graph::NodeId> nodes);

// The joint takes the place of its nodes, with their names and the device of the last, if that pays.
bool replaceByJoint(graph::Graph& graph, std::span<const graph::NodeId> nodes, const Joint& joint, const Pays& pays);

}  // namespace tenon::passes
