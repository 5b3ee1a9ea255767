// Reductions of one tensor over the same axes become one node, which reads the tensor once.
#include "ops/sibling_reductions.h"
#include "passes/common/joint.h"

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

}  // namespace

int joinReductions(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    if (!graph.contains(id)) continue;
    const auto nodes = siblingsOf(graph, id);
    // The first of them asks for all, so that what did not pay is not asked again.
    if (nodes.size() >= 2 && nodes[0] == id && replaceByJoint(graph, nodes, sideBySide(graph, nodes), pays)) ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
