// A convolution and the one whose result is added to its sums become one node: blocks whose residual is a projection.
#include "ops/op/composite.h"
#include "ops/op/convolution.h"
#include "passes/common/match.h"
#include "passes/composites.h"

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

bool replace(Graph& graph, NodeId main, size_t residual, const Pays& pays) {
  const auto node = graph.node(main);
  const NodeId other = graph.value(node.inputs[residual]).producer;
  auto inputs = graph.node(other).inputs;
  ops::CompositePart part{node.op, {}};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    part.inputs.push_back(i == residual ? -1 : static_cast<int32_t>(inputs.size()));
    if (i != residual) inputs.push_back(node.inputs[i]);
  }
  const ops::Composite composite{{{graph.node(other).op, {0, 1, 2}}, std::move(part)}, {1}};
  const NodeId nodes[] = {other, main};
  graph::Patch patch(graph);
  const NodeId made =
      patch.addNode(composite, fmt::format("{} + {}", graph.node(other).name, node.name), inputs, nodes);
  graph.node(made).device = node.device;
  if (!pays(graph, {&made, 1}, nodes)) {
    patch.discard();
    return false;
  }
  patch.replace(node.outputs[0], graph.node(made).outputs[0]);
  patch.commit();
  return true;
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
      if (replace(graph, id, i, pays)) {
        ++edits;
        break;
      }
    }
  }
  return edits;
}

}  // namespace tenon::passes
