// Squeeze-and-excitation becomes one node: the means of an image's channels, two products of them, the image scaled.
#include "ops/op/convolution.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "passes/common/joint.h"
#include "passes/common/match.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// The convolution that computes a value which one node alone reads: of single pixels, with constants behind its first
// operand; kNone otherwise.
NodeId pointConvolutionOf(const Graph& graph, ValueId value) {
  const auto* op = producerOp<ops::Convolution>(graph, value);
  if (op == nullptr || !onlyUse(graph, value)) return graph::kNone;
  const NodeId id = graph.value(value).producer;
  const auto& inputs = graph.node(id).inputs;
  if (inputs.size() != (op->hasBias ? 3u : 2u)) return graph::kNone;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (graph.value(inputs[i]).constant == nullptr) return graph::kNone;
  }
  const auto& w = graph.value(inputs[1]).constant->dims();
  return w.rank == 4 && w[2] == 1 && w[3] == 1 && op->groups == 1 ? id : graph::kNone;
}

struct Chain {
  NodeId mean = graph::kNone, squeeze = graph::kNone, excite = graph::kNone, scale = graph::kNone;
  ValueId image = graph::kNone;
  bool gateFirst = false;
};

// The chain that ends in a scalar operator over an image and its gate, which is operand `gate`.
bool findChain(const Graph& graph, NodeId scale, size_t gate, Chain& chain) {
  const auto& node = graph.node(scale);
  chain.scale = scale;
  chain.gateFirst = gate == 0;
  chain.image = node.inputs[1 - gate];
  chain.excite = pointConvolutionOf(graph, node.inputs[gate]);
  if (chain.excite == graph::kNone) return false;
  chain.squeeze = pointConvolutionOf(graph, graph.node(chain.excite).inputs[0]);
  if (chain.squeeze == graph::kNone) return false;
  const ValueId means = graph.node(chain.squeeze).inputs[0];
  const auto* reduce = producerOp<ops::Reduce>(graph, means);
  if (reduce == nullptr || reduce->op != ops::ReduceOp::kAvg || !reduce->keepDims || !onlyUse(graph, means))
    return false;
  chain.mean = graph.value(means).producer;
  if (graph.node(chain.mean).inputs[0] != chain.image) return false;
  const auto& image = graph.value(chain.image).type;
  const auto& result = graph.value(node.outputs[0]).type;
  // In networks of f32 images may lie as planes, and the kernel's result would have to be brought there.
  if (image.shape.size() != 4 || bits(image.dtype) != 16 || result.shape != image.shape) return false;
  const bool overPixels = reduce->axes == std::vector<int64_t>{2, 3} || reduce->axes == std::vector<int64_t>{-2, -1};
  for (const NodeId id : {chain.mean, chain.squeeze, chain.excite}) {
    if (graph.node(id).device != node.device) return false;
  }
  return overPixels;
}

Joint jointOf(const Graph& graph, const Chain& chain) {
  Joint joint{{{{graph.node(chain.mean).op, {0}}}, {3}}, {chain.image}, {graph.node(chain.scale).outputs[0]}};
  auto& parts = joint.op.parts;
  for (const NodeId id : {chain.squeeze, chain.excite}) {
    const auto& node = graph.node(id);
    ops::CompositePart part{node.op, {-static_cast<int32_t>(parts.size())}};
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      part.inputs.push_back(static_cast<int32_t>(joint.inputs.size()));
      joint.inputs.push_back(node.inputs[i]);
    }
    parts.push_back(std::move(part));
  }
  parts.push_back(
      {graph.node(chain.scale).op, chain.gateFirst ? std::vector<int32_t>{-3, 0} : std::vector<int32_t>{0, -3}});
  return joint;
}

}  // namespace

int joinExcitation(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    if (!graph.contains(id)) continue;
    const auto& node = graph.node(id);
    if (node.op.as<ops::Pointwise>() == nullptr || node.inputs.size() != 2) continue;
    Chain chain;
    const bool found = findChain(graph, id, 0, chain) || findChain(graph, id, 1, chain);
    if (!found) continue;
    const NodeId nodes[] = {chain.mean, chain.squeeze, chain.excite, chain.scale};
    if (replaceByJoint(graph, nodes, jointOf(graph, chain), pays)) ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
