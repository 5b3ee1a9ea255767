// A pointwise convolution and the depthwise convolution of its result become one node: the wide tensor between them is
// neither written nor read.
#include "ops/op/convolution.h"
#include "passes/common/joint.h"
#include "passes/common/match.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// A convolution of an image of halves whose weights and bias, constants, alone are its operands beside the image.
const ops::Convolution* plainConvolution(const Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Convolution>();
  if (op == nullptr || node.inputs.size() != (op->hasBias ? 3u : 2u)) return nullptr;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (graph.value(node.inputs[i]).constant == nullptr) return nullptr;
  }
  const auto& type = graph.value(node.outputs[0]).type;
  return type.shape.size() == 4 && bits(type.dtype) == 16 ? op : nullptr;
}

}  // namespace

int joinExpansion(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    if (!graph.contains(id)) continue;
    const auto* window = plainConvolution(graph, id);
    if (window == nullptr || window->groups == 1) continue;
    const auto& v = graph.value(graph.node(id).inputs[1]).constant->dims();
    if (v[1] != 1 || v[0] != window->groups) continue;
    const ValueId between = graph.node(id).inputs[0];
    const NodeId first = graph.value(between).producer;
    if (first == graph::kNone || !onlyUse(graph, between) || graph.node(first).device != graph.node(id).device)
      continue;
    const auto* expand = plainConvolution(graph, first);
    if (expand == nullptr || expand->groups != 1) continue;
    const auto& w = graph.value(graph.node(first).inputs[1]).constant->dims();
    if (w[2] != 1 || w[3] != 1) continue;
    const NodeId nodes[] = {first, id};
    if (replaceByJoint(graph, nodes, chainOf(graph, first, id), pays)) ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
