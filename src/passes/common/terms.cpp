// Terms over the pointwise nodes of a graph.
#include "passes/common/terms.h"

#include <algorithm>
#include <set>

#include "ops/op/pointwise.h"

namespace tenon::passes {

using graph::NodeId;
using graph::ValueId;
using ops::ScalarArgument;
using ops::ScalarOp;

const ops::ScalarExpr& Terms::expr(const Term& term) const {
  return graph_.node(graph_.value(term.value).producer).op.as<ops::Pointwise>()->expr;
}

Term Terms::of(ValueId id) const {
  const auto& value = graph_.value(id);
  if (value.constant != nullptr && value.constant->count() == 1 && isFloating(value.type.dtype)) {
    return {Term::Kind::kLiteral, graph::kNone, 0, value.constant->view().loadDouble(0)};
  }
  const auto* pointwise =
      value.producer == graph::kNone ? nullptr : graph_.node(value.producer).op.as<ops::Pointwise>();
  if (pointwise == nullptr || pointwise->expr.empty()) return {Term::Kind::kValue, id, 0, 0};
  return {Term::Kind::kInstruction, id, static_cast<int>(pointwise->expr.instructions.size()) - 1, 0};
}

std::optional<ScalarOp> Terms::op(const Term& term) const {
  if (term.kind != Term::Kind::kInstruction) return std::nullopt;
  return expr(term).instructions[static_cast<size_t>(term.instruction)].op;
}

Term Terms::operand(const Term& term, int i) const {
  const auto& argument =
      expr(term).instructions[static_cast<size_t>(term.instruction)].arguments[static_cast<size_t>(i)];
  switch (argument.kind) {
    case ScalarArgument::Kind::kLiteral: return {Term::Kind::kLiteral, graph::kNone, 0, argument.literal};
    case ScalarArgument::Kind::kResult: return {Term::Kind::kInstruction, term.value, argument.index, 0};
    default: return of(graph_.node(graph_.value(term.value).producer).inputs[static_cast<size_t>(argument.index)]);
  }
}

std::optional<ValueId> Terms::value(const Term& term) const {
  if (term.kind == Term::Kind::kLiteral) return std::nullopt;
  if (term.kind == Term::Kind::kInstruction && term.instruction + 1 != static_cast<int>(expr(term).instructions.size()))
    return std::nullopt;
  return term.value;
}

std::optional<std::pair<Term, Term>> Terms::pair(const Term& term, ScalarOp wanted) const {
  if (!is(term, wanted)) return std::nullopt;
  return std::pair(operand(term, 0), operand(term, 1));
}

std::optional<std::pair<Term, double>> Terms::withLiteral(const Term& term, ScalarOp wanted) const {
  const auto both = pair(term, wanted);
  if (!both) return std::nullopt;
  if (both->second.kind == Term::Kind::kLiteral) return std::pair(both->first, both->second.literal);
  if (both->first.kind == Term::Kind::kLiteral) return std::pair(both->second, both->first.literal);
  return std::nullopt;
}

std::optional<Term> Terms::square(const Term& term) const {
  if (const auto both = pair(term, ScalarOp::k_mul); both && both->first == both->second) return both->first;
  const auto power = pair(term, ScalarOp::k_pow);
  if (power && power->second.kind == Term::Kind::kLiteral && power->second.literal == 2) return power->first;
  return std::nullopt;
}

std::vector<NodeId> Terms::nodesBetween(const graph::Graph& graph, ValueId last, const std::vector<ValueId>& sources) {
  std::set<NodeId> found;
  std::vector<ValueId> stack{last};
  while (!stack.empty()) {
    const ValueId id = stack.back();
    stack.pop_back();
    const NodeId producer = graph.value(id).producer;
    if (producer == graph::kNone || std::find(sources.begin(), sources.end(), id) != sources.end() ||
        !found.insert(producer).second)
      continue;
    for (const auto input : graph.node(producer).inputs) stack.push_back(input);
  }
  std::vector<NodeId> result(found.begin(), found.end());
  std::sort(result.begin(), result.end(), [&](NodeId a, NodeId b) { return graph.isBefore(a, b); });
  return result;
}

}  // namespace tenon::passes
