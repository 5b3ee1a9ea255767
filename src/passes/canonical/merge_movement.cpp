// Merging of movement: reshape of reshape, transpose of transpose, transposes that only move extents of one, and chains
// of both kinds, which are one transpose between two reshapes at most.
#include "passes/common/pass.h"

#include "ops/op/reshape.h"
#include "ops/op/transpose.h"
#include "passes/common/movement_view.h"

namespace tenon::passes {
namespace {

// The producer of input 0, if it is a node of type T.
template <typename T>
const T* producerOf(const Graph& graph, const graph::Node& node, NodeId& producer) {
  producer = graph.value(node.inputs[0]).producer;
  return producer == graph::kNone ? nullptr : graph.node(producer).op.as<T>();
}

bool replaceBy(Graph& graph, NodeId id, ops::Operator op, graph::ValueId input, std::span<const NodeId> from) {
  graph::Patch patch(graph);
  const auto output = graph.node(id).outputs[0];
  const auto name = graph.node(id).name;
  patch.replace(output, patch.add(std::move(op), name, {input}, from));
  patch.commit();
  return true;
}

// Axes of extent 1 may move freely: when the others keep their order, the transpose is a reshape.
bool movesNothing(const ops::Transpose& transpose, const Shape& in) {
  int64_t last = -1;
  for (const int64_t axis : transpose.permutation) {
    if (in[static_cast<size_t>(axis)].isConstant(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

bool mergeNode(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  NodeId producer = graph::kNone;
  if (node.op.as<ops::Reshape>() != nullptr) {
    const auto* before = producerOf<ops::Reshape>(graph, node, producer);
    if (before == nullptr || graph.value(node.inputs[0]).constraints.debug) return false;
    const NodeId from[] = {producer, id};
    return replaceBy(graph, id, node.op, graph.node(producer).inputs[0], from);
  }
  const auto* transpose = node.op.as<ops::Transpose>();
  if (transpose == nullptr) return false;
  const NodeId self[] = {id};
  const Shape in = graph.value(node.inputs[0]).type.shape;
  if (movesNothing(*transpose, in)) {
    return replaceBy(graph, id, ops::Reshape{graph.value(node.outputs[0]).type.shape}, node.inputs[0], self);
  }
  const auto* before = producerOf<ops::Transpose>(graph, node, producer);
  if (before == nullptr || graph.value(node.inputs[0]).constraints.debug) return false;
  ops::Transpose merged;
  for (const int64_t axis : transpose->permutation)
    merged.permutation.push_back(before->permutation[static_cast<size_t>(axis)]);
  const NodeId from[] = {producer, id};
  return replaceBy(graph, id, merged, graph.node(producer).inputs[0], from);
}

// The chain of reshapes and transposes that ends at a node, by fewer of them.
bool mergeChain(Graph& graph, NodeId id) {
  const auto isMovement = [&](NodeId node) {
    return graph.node(node).op.as<ops::Reshape>() != nullptr || graph.node(node).op.as<ops::Transpose>() != nullptr;
  };
  if (!isMovement(id)) return false;
  const graph::ValueId output = graph.node(id).outputs[0];
  const Shape shape = graph.value(output).type.shape;
  MovementView view(graph, output);
  MovementView::Cost written;
  bool alone = true;  // nobody reads what is between
  std::vector<NodeId> from;
  std::optional<MovementView> best;
  std::vector<NodeId> bestFrom;
  while (true) {
    const NodeId producer = graph.value(view.source()).producer;
    if (producer == graph::kNone || !isMovement(producer)) break;
    if (producer != id) alone = alone && onlyUse(graph, view.source()).has_value();
    // The output's own demands stay with it.
    if (!(producer == id ? view.stepBackFrom(graph, id) : view.stepBack(graph))) break;
    from.insert(from.begin(), producer);
    ++written.nodes;
    written.transposes += graph.node(producer).op.as<ops::Transpose>() != nullptr ? 1 : 0;
    const auto now = view.cost(graph, view.order(), shape);
    const bool fewerTransposes = now.transposes < written.transposes;
    const bool fewerNodes = alone && now.transposes == written.transposes && now.nodes < written.nodes;
    if (!fewerTransposes && !fewerNodes) continue;
    best = view;
    bestFrom = from;
  }
  if (!best) return false;
  const auto name = graph.node(id).name;
  graph::Patch patch(graph);
  const graph::ValueId result = best->build(patch, graph, best->order(), shape, name, bestFrom);
  if (result == best->source()) {
    const auto& source = graph.value(result);
    const bool isOther = source.isInput || source.constant != nullptr || graph.isOutput(result);
    if ((graph.isOutput(output) && isOther) || graph.value(output).constraints != graph::Constraints{}) {
      patch.discard();
      return false;
    }
  }
  patch.replace(output, result);
  patch.commit();
  return true;
}

}  // namespace

int pass_merge_movement(Graph& graph, const Options&) {
  const int pairs = editOnce(graph, [&](NodeId id) { return mergeNode(graph, id); });
  return pairs + editUntilDone(graph, [&](NodeId id) { return mergeChain(graph, id); });
}

}  // namespace tenon::passes
