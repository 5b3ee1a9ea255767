// slice(transpose(x)) => transpose(slice(x)) and concat(transpose(x), transpose(y)) => transpose(concat(x, y)) where
// rows stay whole but for parts that something is done with before they are joined again: heads of which a part is
// turned by its position. The transposes meet behind the concatenation, where an attention takes one. On GPUs.
#include "passes/common/pass.h"

#include "ops/op/concat.h"
#include "ops/op/pointwise.h"
#include "ops/op/slice.h"
#include "passes/common/transposed.h"

namespace tenon::passes {
namespace {

// The concatenation along the last axis that all readers of a value lead to, by slices and scalar work alone, or none.
NodeId joinOf(const Graph& graph, ValueId value, int depth = 8) {
  NodeId found = graph::kNone;
  if (depth == 0 || graph.isOutput(value)) return found;
  for (const auto& use : graph.uses(value)) {
    const auto& node = graph.node(use.node);
    const auto* concat = node.op.as<ops::Concat>();
    const auto rank = static_cast<int64_t>(graph.value(node.outputs[0]).type.shape.size());
    NodeId join = graph::kNone;
    if (concat != nullptr) {
      if (concat->axis == -1 || concat->axis == rank - 1) join = use.node;
    } else if (node.op.as<ops::Slice>() != nullptr || node.op.as<ops::Pointwise>() != nullptr) {
      join = joinOf(graph, node.outputs[0], depth - 1);
    }
    if (join == graph::kNone || (found != graph::kNone && found != join)) return graph::kNone;
    found = join;
  }
  return found;
}

bool keepsLast(const ops::Transpose& transpose) {
  return transpose.permutation.back() + 1 == static_cast<int64_t>(transpose.permutation.size());
}

// All readers of the transposed tensor are slices that are joined again.
bool belowSlice(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  const auto* slice = node.op.as<ops::Slice>();
  if (slice == nullptr || node.inputs.size() != 1) return false;
  const ValueId moved = node.inputs[0];
  const auto* transpose = transposeBehind(graph, moved);
  if (transpose == nullptr || !keepsLast(*transpose) || joinOf(graph, moved) == graph::kNone) return false;
  for (const auto& use : graph.uses(moved))
    if (graph.node(use.node).op.as<ops::Slice>() == nullptr) return false;
  const auto movement = *transpose;
  const NodeId from[] = {graph.value(moved).producer};
  const NodeId self[] = {id};
  const auto name = graph.node(from[0]).name;
  graph::Patch patch(graph);
  const ValueId part = patch.add(slicedBack(*slice, movement.permutation), node.name, graph.node(from[0]).inputs, self);
  patch.replace(node.outputs[0], patch.add(movement, name, {part}, from));
  patch.commit();
  return true;
}

bool belowConcat(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  const auto* concat = node.op.as<ops::Concat>();
  const auto* first = concat == nullptr ? nullptr : transposeBehind(graph, node.inputs[0]);
  if (first == nullptr || !keepsLast(*first)) return false;
  const auto rank = static_cast<int64_t>(first->permutation.size());
  if (concat->axis != -1 && concat->axis != rank - 1) return false;
  std::vector<ValueId> parts;
  std::vector<NodeId> from;
  for (const ValueId input : node.inputs) {
    const auto* transpose = transposeBehind(graph, input);
    if (transpose == nullptr || transpose->permutation != first->permutation || !onlyUse(graph, input)) return false;
    from.push_back(graph.value(input).producer);
    parts.push_back(graph.node(from.back()).inputs[0]);
  }
  const auto movement = *first;
  const auto name = graph.node(from[0]).name;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  const ValueId joined = patch.add(ops::Concat{rank - 1}, node.name, std::move(parts), self);
  patch.replace(node.outputs[0], patch.add(movement, name, {joined}, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_sink_parts(Graph& graph, const Options& options) {
  if (factsOf(options.device).kind != DeviceKind::kGpu) return 0;
  return editUntilDone(graph, [&](NodeId id) { return belowSlice(graph, id) || belowConcat(graph, id); });
}

}  // namespace tenon::passes
