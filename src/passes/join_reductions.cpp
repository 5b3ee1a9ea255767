// Reductions of one tensor over the same axes become one node, which reads the tensor once.
#include "ops/op/composite.h"
#include "ops/sibling_reductions.h"
#include "passes/common/match.h"
#include "passes/composites.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;

std::vector<NodeId> siblingsOf(const Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Reduce>();
  std::vector<NodeId> nodes;
  if (op == nullptr) return nodes;
  for (const auto& use : graph.uses(node.inputs[0])) {
    const auto& other = graph.node(use.node);
    const auto* reduce = other.op.as<ops::Reduce>();
    if (reduce != nullptr && ops::areSiblings(*op, *reduce) && other.device == node.device) nodes.push_back(use.node);
  }
  return nodes;
}

bool replace(Graph& graph, const std::vector<NodeId>& nodes, const Pays& pays) {
  ops::Composite op;
  std::string name;
  for (const auto id : nodes) {
    op.outputs.push_back(static_cast<int32_t>(op.parts.size()));
    op.parts.push_back({graph.node(id).op, {0}});
    name += (name.empty() ? "" : " + ") + graph.node(id).name;
  }
  graph::Patch patch(graph);
  const NodeId made = patch.addNode(op, name, {graph.node(nodes[0]).inputs[0]}, nodes);
  graph.node(made).device = graph.node(nodes[0]).device;
  if (!pays(graph, {&made, 1}, nodes)) {
    patch.discard();
    return false;
  }
  for (size_t i = 0; i < nodes.size(); ++i) patch.replace(graph.node(nodes[i]).outputs[0], graph.node(made).outputs[i]);
  patch.commit();
  return true;
}

}  // namespace

int joinReductions(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    if (!graph.contains(id)) continue;
    const auto nodes = siblingsOf(graph, id);
    // The first of them asks for all, so that what did not pay is not asked again.
    if (nodes.size() >= 2 && nodes[0] == id && replace(graph, nodes, pays)) ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
