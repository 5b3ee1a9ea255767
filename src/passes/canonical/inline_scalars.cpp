// Scalars as literals: an expression that shows its numbers can be rewritten, and needs no operand for them.
#include "passes/common/pass.h"

#include <cmath>

#include "core/error.h"
#include "ops/op/pointwise.h"

namespace tenon::passes {
namespace {

// The number a value holds, when it is a constant of one element that new weights will not change.
std::optional<double> numberOf(const graph::Value& value, const Options& options) {
  if (value.constant == nullptr || value.constant->count() != 1) return std::nullopt;
  if (options.refittable && !value.constant->weights().empty()) return std::nullopt;
  const double number = value.constant->view().loadDouble(0);
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (!std::isfinite(number) || std::abs(number) > kExactIntegers) return std::nullopt;
  return number;
}

// The expression with a number in place of each input that is one; the inputs that are left are renumbered.
ops::ScalarExpr withNumbers(ops::ScalarExpr expr, const std::vector<std::optional<double>>& numbers) {
  std::vector<int> place;
  int next = 0;
  for (const auto& number : numbers) place.push_back(number ? -1 : next++);
  for (auto& instruction : expr.instructions) {
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (argument.kind != ScalarArgument::Kind::kInput) continue;
      const auto index = static_cast<size_t>(argument.index);
      argument = numbers[index] ? ScalarArgument::constant(*numbers[index]) : ScalarArgument::input(place[index]);
    }
  }
  return expr;
}

bool rewriteNode(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* pointwise = node.op.as<ops::Pointwise>();
  if (pointwise == nullptr || pointwise->expr.empty()) return false;
  std::vector<std::optional<double>> numbers;
  std::vector<graph::ValueId> kept;
  for (const auto input : node.inputs) {
    numbers.push_back(numberOf(graph.value(input), options));
    if (!numbers.back()) kept.push_back(input);
  }
  if (kept.empty() || kept.size() == node.inputs.size()) return false;
  // A literal takes the type of its neighbour, and has no shape to give: both must come out as they were.
  const auto dtypesOf = [&](const std::vector<graph::ValueId>& inputs) {
    std::vector<DataType> types;
    for (const auto input : inputs) types.push_back(graph.value(input).type.dtype);
    return types;
  };
  auto expr = withNumbers(pointwise->expr, numbers);
  std::vector<ops::TensorType> types;
  const ops::Operator op = ops::Pointwise{expr};
  try {
    if (instructionTypes(expr, dtypesOf(kept)) != instructionTypes(pointwise->expr, dtypesOf(node.inputs)))
      return false;
    types = op.infer(node.name, graph.inputTypes(kept));
  } catch (const UserError&) {
    return false;
  }
  const auto& out = graph.value(node.outputs[0]).type;
  if (types[0].dtype != out.dtype || types[0].shape != out.shape) return false;
  const NodeId from[] = {id};
  const auto output = node.outputs[0];
  const auto name = node.name;
  graph::Patch patch(graph);
  patch.replace(output, patch.add(op, name, std::move(kept), from));
  patch.commit();
  return true;
}

}  // namespace

int pass_inline_scalars(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) { return rewriteNode(graph, id, options); });
}

}  // namespace tenon::passes
