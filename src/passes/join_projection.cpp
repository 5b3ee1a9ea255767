// A convolution and the one whose result is added to its sums become one node: blocks whose residual is a projection.
#include "ops/op/convolution.h"
#include "passes/common/joint.h"
#include "passes/common/match.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool isConstant(const Graph& graph, ValueId value) { return graph.value(value).constant != nullptr; }

// A convolution of images whose weights and bias alone are its operands beside the image.
bool isProjection(const Graph& graph, ValueId value) {
  const auto* op = producerOp<ops::Convolution>(graph, value);
  if (op == nullptr || op->groups != 1 || !onlyUse(graph, value)) return false;
  const auto& inputs = graph.node(graph.value(value).producer).inputs;
  return inputs.size() == 3 && isConstant(graph, inputs[1]) && isConstant(graph, inputs[2]);
}

}  // namespace

int joinProjection(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    if (!graph.contains(id)) continue;
    const auto* op = graph.node(id).op.as<ops::Convolution>();
    if (op == nullptr || op->groups != 1 || !isConstant(graph, graph.node(id).inputs[1])) continue;
    const auto& type = graph.value(graph.node(id).outputs[0]).type;
    for (size_t i = op->hasBias ? 3 : 2; i < graph.node(id).inputs.size(); ++i) {
      const ValueId value = graph.node(id).inputs[i];
      if (!isProjection(graph, value) || graph.value(value).type.shape != type.shape) continue;
      if (bits(graph.value(value).type.dtype) != 16 || graph.value(value).type.shape.size() != 4) continue;
      if (graph.node(graph.value(value).producer).device != graph.node(id).device) continue;
      const NodeId nodes[] = {graph.value(value).producer, id};
      if (replaceByJoint(graph, nodes, chainOf(graph, nodes[0], id, i), pays)) {
        ++edits;
        break;
      }
    }
  }
  return edits;
}

}  // namespace tenon::passes
