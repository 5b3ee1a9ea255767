// Nodes as one composite operator.
#include "passes/common/joint.h"

#include <algorithm>

namespace tenon::passes {

using graph::Graph;
using graph::NodeId;

Joint chainOf(const Graph& graph, NodeId first, NodeId second, size_t operand) {
  const auto& node = graph.node(second);
  Joint joint;
  joint.inputs = graph.node(first).inputs;
  joint.outputs = node.outputs;
  if (const auto* composite = graph.node(first).op.as<ops::Composite>()) {
    joint.op.parts = composite->parts;
  } else {
    ops::CompositePart part{graph.node(first).op, {}};
    for (size_t i = 0; i < joint.inputs.size(); ++i) part.inputs.push_back(static_cast<int32_t>(i));
    joint.op.parts.push_back(std::move(part));
  }
  const auto parts = static_cast<int32_t>(joint.op.parts.size());
  ops::CompositePart last{node.op, {}};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    last.inputs.push_back(i == operand ? -parts : static_cast<int32_t>(joint.inputs.size()));
    if (i != operand) joint.inputs.push_back(node.inputs[i]);
  }
  joint.op.parts.push_back(std::move(last));
  joint.op.outputs = {parts};
  return joint;
}

Joint sideBySide(const Graph& graph, std::span<const NodeId> nodes) {
  Joint joint;
  for (const auto id : nodes) {
    const auto& node = graph.node(id);
    ops::CompositePart part{node.op, {}};
    for (const auto input : node.inputs) {
      const auto known = std::find(joint.inputs.begin(), joint.inputs.end(), input);
      part.inputs.push_back(static_cast<int32_t>(known - joint.inputs.begin()));
      if (known == joint.inputs.end()) joint.inputs.push_back(input);
    }
    joint.op.outputs.push_back(static_cast<int32_t>(joint.op.parts.size()));
    joint.op.parts.push_back(std::move(part));
    joint.outputs.push_back(node.outputs[0]);
  }
  return joint;
}

bool replaceByJoint(Graph& graph, std::span<const NodeId> nodes, const Joint& joint, const Pays& pays) {
  // Casts and other nodes that the network does not have go without saying.
  const auto isOfNetwork = [&](NodeId id) { return !graph.node(id).origins.empty(); };
  const bool all = std::none_of(nodes.begin(), nodes.end(), isOfNetwork);
  std::string name;
  for (const auto id : nodes) {
    if (all || isOfNetwork(id)) name += (name.empty() ? "" : " + ") + graph.node(id).name;
  }
  graph::Patch patch(graph);
  const NodeId made = patch.addNode(joint.op, name, joint.inputs, nodes);
  graph.node(made).device = graph.node(nodes.back()).device;
  if (!pays(graph, {&made, 1}, nodes)) {
    patch.discard();
    return false;
  }
  for (size_t i = 0; i < joint.outputs.size(); ++i) patch.replace(joint.outputs[i], graph.node(made).outputs[i]);
  patch.commit();
  return true;
}

}  // namespace tenon::passes
