// The first convolution of an image network and the maximum over windows of its result become one node.
#include "ops/op/convolution.h"
#include "ops/op/pooling.h"
#include "passes/common/joint.h"
#include "passes/common/match.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kImageChannels = 4;

// A convolution, or a composite of something and a convolution that computes its result.
bool isConvolution(const graph::Node& node) {
  const auto* composite = node.op.as<ops::Composite>();
  if (composite == nullptr) return node.op.as<ops::Convolution>() != nullptr;
  return composite->parts.size() == 2 && composite->outputs == std::vector<int32_t>{1} &&
         composite->parts[1].op.as<ops::Convolution>() != nullptr;
}

bool isOfImage(const Graph& graph, const graph::Node& node) {
  if (node.inputs.size() < 2 || graph.value(node.inputs[1]).constant == nullptr) return false;
  const auto& w = graph.value(node.inputs[1]).constant->dims();
  return w.rank == 4 && w[1] <= kImageChannels;
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
    if (!isConvolution(first) || !isOfImage(graph, first) || first.device != graph.node(id).device) continue;
    const NodeId nodes[] = {graph.value(value).producer, id};
    if (replaceByJoint(graph, nodes, chainOf(graph, nodes[0], id), pays)) ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
