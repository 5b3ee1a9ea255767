// (x + c) + d => x + (c + d) for constants that are more than vectors: tables of positions and segments are then one,
// and x + table is a sum of two, which a normalization behind it takes.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/pointwise.h"

namespace tenon::passes {
namespace {

struct Sum {
  ValueId x = graph::kNone;
  ConstantPtr table;
};

// x + table, of one floating type.
std::optional<Sum> tableSum(const Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Pointwise>();
  if (op == nullptr || node.inputs.size() != 2 || op->expr.instructions.size() != 1) return std::nullopt;
  const auto& sum = op->expr.instructions[0];
  const auto& a = sum.arguments[0];
  const auto& b = sum.arguments[1];
  const bool isInputs = a.kind == ScalarArgument::Kind::kInput && b.kind == ScalarArgument::Kind::kInput;
  const auto& type = graph.value(node.outputs[0]).type;
  if (sum.op != ScalarOp::k_add || !isInputs || a.index == b.index || !isFloating(type.dtype)) return std::nullopt;
  const size_t place = graph.value(node.inputs[1]).constant != nullptr ? 1 : 0;
  const auto table = graph.value(node.inputs[place]).constant;
  const ValueId x = node.inputs[1 - place];
  if (table == nullptr || graph.value(x).constant != nullptr) return std::nullopt;
  if (graph.value(x).type.shape != type.shape) return std::nullopt;
  for (int axis = 0; axis < type.rank(); ++axis) {
    if (variesAlong(table->dims(), type.shape, axis)) return std::nullopt;
  }
  return Sum{x, table};
}

bool merge(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto inner = tableSum(graph, id);
  const auto use = inner ? onlyUse(graph, node.outputs[0]) : std::nullopt;
  const auto outer = use ? tableSum(graph, use->node) : std::nullopt;
  if (!outer || outer->x != node.outputs[0] || node.device != graph.node(use->node).device) return false;
  const auto add = ops::ScalarExpr::of(ScalarOp::k_add, {ScalarArgument::input(0), ScalarArgument::input(1)});
  const auto table = Constant::recipe(ops::Pointwise{add}, {inner->table, outer->table});
  if (table->count() > std::max(inner->table->count(), outer->table->count())) return false;
  const NodeId from[] = {id, use->node};
  const auto output = graph.node(use->node).outputs[0];
  const auto name = node.name;
  const auto device = node.device;
  graph::Patch patch(graph);
  const ValueId both = patch.addConstant(table, name + "_tables");
  const ValueId sum = patch.add(ops::Pointwise{add}, "", {inner->x, both}, from);
  auto& merged = graph.node(graph.value(sum).producer);
  merged.name = fmt::format("fusedPointwiseNode({})", fmt::join(merged.origins, ", "));
  merged.device = device;
  patch.replace(output, sum);
  patch.commit();
  return true;
}

}  // namespace

int pass_merge_constants(Graph& graph, const Options&) {
  return editUntilDone(graph, [&](NodeId id) { return merge(graph, id); });
}

}  // namespace tenon::passes
