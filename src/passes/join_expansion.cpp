// A pointwise convolution and the depthwise convolution of its result become one node: the wide tensor between them is
// neither written nor read.
#include "ops/op/composite.h"
#include "ops/op/convolution.h"
#include "passes/common/match.h"
#include "passes/composites.h"

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

bool replace(Graph& graph, NodeId first, NodeId second, const Pays& pays) {
  const auto node = graph.node(second);
  auto inputs = graph.node(first).inputs;
  ops::CompositePart expand{graph.node(first).op, {}};
  for (size_t i = 0; i < inputs.size(); ++i) expand.inputs.push_back(static_cast<int32_t>(i));
  ops::CompositePart window{node.op, {-1}};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    window.inputs.push_back(static_cast<int32_t>(inputs.size()));
    inputs.push_back(node.inputs[i]);
  }
  const ops::Composite composite{{std::move(expand), std::move(window)}, {1}};
  const NodeId nodes[] = {first, second};
  graph::Patch patch(graph);
  const NodeId made =
      patch.addNode(composite, fmt::format("{} + {}", graph.node(first).name, node.name), inputs, nodes);
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
    if (replace(graph, first, id, pays)) ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
