// The first convolution of an image network and the maximum over windows of its result become one node.
#include "ops/op/composite.h"
#include "ops/op/convolution.h"
#include "ops/op/pooling.h"
#include "passes/common/match.h"
#include "passes/composites.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kImageChannels = 4;

// The node as parts of a composite, whose last one computes its result; none where it is no convolution of an image.
std::vector<ops::CompositePart> partsOf(const graph::Node& node) {
  if (const auto* composite = node.op.as<ops::Composite>()) {
    const bool isChain = composite->parts.size() == 2 && composite->outputs == std::vector<int32_t>{1};
    return isChain && composite->parts[1].op.as<ops::Convolution>() != nullptr ? composite->parts
                                                                               : std::vector<ops::CompositePart>{};
  }
  if (node.op.as<ops::Convolution>() == nullptr) return {};
  ops::CompositePart part{node.op, {}};
  for (size_t i = 0; i < node.inputs.size(); ++i) part.inputs.push_back(static_cast<int32_t>(i));
  return {std::move(part)};
}

bool isOfImage(const Graph& graph, const graph::Node& node) {
  if (node.inputs.size() < 2 || graph.value(node.inputs[1]).constant == nullptr) return false;
  const auto& w = graph.value(node.inputs[1]).constant->dims();
  return w.rank == 4 && w[1] <= kImageChannels;
}

bool replace(Graph& graph, NodeId first, NodeId pooling, std::vector<ops::CompositePart> parts, const Pays& pays) {
  const auto& node = graph.node(first);
  const auto last = static_cast<int32_t>(parts.size());
  parts.push_back({graph.node(pooling).op, {-last}});
  const NodeId nodes[] = {first, pooling};
  graph::Patch patch(graph);
  const auto inputs = node.inputs;
  const auto device = node.device;
  const NodeId made = patch.addNode(ops::Composite{std::move(parts), {last}},
                                    fmt::format("{} + {}", node.name, graph.node(pooling).name), inputs, nodes);
  graph.node(made).device = device;
  if (!pays(graph, {&made, 1}, nodes)) {
    patch.discard();
    return false;
  }
  patch.replace(graph.node(pooling).outputs[0], graph.node(made).outputs[0]);
  patch.commit();
  return true;
}

}  // namespace

int joinPooling(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    if (!graph.contains(id)) continue;
    const auto* op = graph.node(id).op.as<ops::Pooling>();
    if (op == nullptr || op->type != ops::PoolingType::kMax) continue;
    const ValueId value = graph.node(id).inputs[0];
    const auto& type = graph.value(value).type;
    if (graph.value(value).producer == graph::kNone || !onlyUse(graph, value)) continue;
    if (bits(type.dtype) != 16 || !isFloating(type.dtype)) continue;
    const auto& first = graph.node(graph.value(value).producer);
    auto parts = partsOf(first);
    if (parts.empty() || !isOfImage(graph, first) || first.device != graph.node(id).device) continue;
    if (replace(graph, graph.value(value).producer, id, std::move(parts), pays)) ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
