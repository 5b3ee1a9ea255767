// Scores term by term, from the softmax back to the product.
#include "passes/common/attention_scores.h"

#include <algorithm>
#include <cmath>

#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "passes/common/match.h"

namespace tenon::passes {

using graph::Graph;
using graph::ValueId;
using ops::ScalarOp;

namespace {

// A number that any score vanishes beside, so that adding it is the same as putting it in the score's place.
constexpr double kClosed = -1e30;
// What exporters write for it in halves (and some in f32). Scores may be seen beside such numbers in a row without an
// open key, so that they count as -infinity only where each row is known to have one.
constexpr double kClosedBesideOpen = -1e4;

using Scores = std::optional<AttentionScores>;

// Masks that were added before are multiplied as well.
Scores scaled(const Graph& graph, const Terms& terms, const Term& inner, double factor) {
  auto scores = matchScores(graph, terms, inner);
  if (!scores || factor == 0 || !std::isfinite(factor)) return std::nullopt;
  for (auto& mask : scores->masks) {
    mask.factor *= factor;
    mask.closed *= factor;
    if (mask.condition && mask.closed > kClosed) return std::nullopt;
  }
  scores->scale *= factor;
  scores->softcap *= std::abs(factor);
  return scores;
}

// By a value of one column.
Scores timesRows(const Graph& graph, const Terms& terms, const Term& product) {
  for (const int inner : {0, 1}) {
    const auto factor = terms.value(terms.operand(product, 1 - inner));
    if (!factor) continue;
    const auto& type = graph.value(*factor).type;
    if (type.shape.empty() || !type.shape.back().isConstant(1)) continue;
    auto scores = matchScores(graph, terms, terms.operand(product, inner));
    if (!scores || !scores->masks.empty() || scores->softcap != 0) continue;
    scores->factors.push_back({*factor, graph.value(product.value).type.shape});
    return scores;
  }
  return std::nullopt;
}

Scores capped(const Graph& graph, const Terms& terms, const Term& inner) {
  auto scores = matchScores(graph, terms, inner);
  if (!scores || !scores->masks.empty() || scores->softcap != 0) return std::nullopt;
  scores->softcap = 1;
  return scores;
}

// Whether some key of each row is open by a constant condition.
bool opensEachRow(const Graph& graph, ValueId condition, bool closedWhere) {
  const auto& value = graph.value(condition);
  if (value.constant == nullptr) return false;
  const auto view = value.constant->view();
  const int64_t keys = view.dims.rank == 0 ? 1 : view.dims[view.dims.rank - 1];
  const int64_t rows = keys == 0 ? 0 : view.count() / keys;
  for (int64_t row = 0; row < rows; ++row) {
    bool open = false;
    for (int64_t key = 0; key < keys && !open; ++key) open = (view.loadDouble(row * keys + key) != 0) != closedWhere;
    if (!open) return false;
  }
  return rows > 0;
}

// Whether the value is moved or computed step by step from products and constants alone, without a number that leaves
// keys out: a bias, and no mask.
bool isBias(const Graph& graph, ValueId id, int depth = 8) {
  const auto& value = graph.value(id);
  if (!isFloating(value.type.dtype)) return true;  // indices and conditions
  if (value.constant != nullptr) {
    const auto view = value.constant->view();
    for (int64_t i = 0; i < view.count(); ++i) {
      if (!(view.loadDouble(i) > kClosedBesideOpen)) return false;
    }
    return true;
  }
  if (value.producer == graph::kNone || depth == 0) return false;
  const auto& node = graph.node(value.producer);
  if (node.op.as<ops::MatMul>() != nullptr) return true;
  if (const auto* pointwise = node.op.as<ops::Pointwise>()) {
    for (const auto& instruction : pointwise->expr.instructions) {
      for (const auto& argument : instruction.arguments) {
        if (argument.kind == ops::ScalarArgument::Kind::kLiteral && !(argument.literal > kClosedBesideOpen))
          return false;
      }
    }
  }
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return isBias(graph, input, depth - 1); });
}

// Masks that were added before count beside a finite number, but not beside -infinity.
bool mayStandBehind(const Graph& graph, const AttentionScores& scores, double closed) {
  return std::isinf(closed) || std::all_of(scores.masks.begin(), scores.masks.end(), [&](const ScoreMask& mask) {
           return mask.condition || isBias(graph, mask.value);
         });
}

Scores chosen(const Graph& graph, const Terms& terms, const Term& term) {
  const auto condition = terms.value(terms.operand(term, 0));
  if (!condition || graph.value(*condition).type.dtype != DataType::kBool) return std::nullopt;
  for (const bool closedWhere : {true, false}) {
    const Term closed = terms.operand(term, closedWhere ? 1 : 2);
    if (closed.kind != Term::Kind::kLiteral) continue;
    double number = closed.literal;
    if (number > kClosed && number <= kClosedBesideOpen && opensEachRow(graph, *condition, closedWhere))
      number = -HUGE_VAL;
    if (number > kClosed) continue;
    auto scores = matchScores(graph, terms, terms.operand(term, closedWhere ? 2 : 1));
    if (!scores || !mayStandBehind(graph, *scores, number)) return std::nullopt;
    scores->masks.push_back({*condition, graph.value(term.value).type.shape, 1, true, closedWhere, number});
    return scores;
  }
  return std::nullopt;
}

Scores added(const Graph& graph, const Terms& terms, const Term& sum) {
  for (const int inner : {0, 1}) {
    const auto mask = terms.value(terms.operand(sum, 1 - inner));
    auto scores = mask ? matchScores(graph, terms, terms.operand(sum, inner)) : std::nullopt;
    if (!scores) continue;
    scores->masks.push_back({*mask, graph.value(sum.value).type.shape});
    return scores;
  }
  return std::nullopt;
}

ops::Pointwise timesNumber(double factor) {
  return {ops::ScalarExpr::of(ScalarOp::k_mul, {ops::ScalarArgument::input(0), ops::ScalarArgument::constant(factor)})};
}

}  // namespace

Term withoutCasts(const Terms& terms, Term term) {
  while (terms.is(term, ScalarOp::k_cast)) term = terms.operand(term, 0);
  return term;
}

bool keepsRows(const Graph& graph, ValueId value) {
  if (producerOp<ops::Reshape>(graph, value) == nullptr) return false;
  const Shape& after = graph.value(value).type.shape;
  const Shape& before = graph.value(graph.node(graph.value(value).producer).inputs[0]).type.shape;
  return after.size() >= 2 && before.size() >= 2 && std::equal(after.end() - 2, after.end(), before.end() - 2);
}

Scores matchScores(const Graph& graph, const Terms& terms, const Term& outer) {
  const Term term = withoutCasts(terms, outer);
  if (term.kind == Term::Kind::kValue) {
    if (keepsRows(graph, term.value))
      return matchScores(graph, terms, terms.of(graph.node(graph.value(term.value).producer).inputs[0]));
    const auto* op = producerOp<ops::MatMul>(graph, term.value);
    return op != nullptr && op->epilogue.empty() ? Scores(AttentionScores{term.value, {}, 1, 0, {}}) : std::nullopt;
  }
  if (const auto product = terms.withLiteral(term, ScalarOp::k_mul))
    return scaled(graph, terms, product->first, product->second);
  if (const auto quotient = terms.pair(term, ScalarOp::k_div);
      quotient && quotient->second.kind == Term::Kind::kLiteral)
    return scaled(graph, terms, quotient->first, 1 / quotient->second.literal);
  if (terms.is(term, ScalarOp::k_mul)) return timesRows(graph, terms, term);
  if (terms.is(term, ScalarOp::k_tanh)) return capped(graph, terms, terms.operand(term, 0));
  if (terms.is(term, ScalarOp::k_select)) return chosen(graph, terms, term);
  return terms.is(term, ScalarOp::k_add) ? added(graph, terms, term) : std::nullopt;
}

namespace {

// Conditions as numbers to add: that of the last one which closes, or 0; layers that share conditions come to share
// them.
ops::Pointwise numbersOf(const std::vector<const ScoreMask*>& conditions, DataType type) {
  ops::ScalarExpr expr;
  for (size_t i = 0; i < conditions.size(); ++i) {
    const auto open = i == 0 ? ops::ScalarArgument::constant(0) : ops::ScalarArgument::result(static_cast<int>(i) - 1);
    const auto closed = ops::ScalarArgument::constant(conditions[i]->closed);
    const bool where = conditions[i]->closedWhere;
    const auto part = ops::ScalarExpr::of(ScalarOp::k_select, {ops::ScalarArgument::input(static_cast<int>(i)),
                                                               where ? closed : open, where ? open : closed});
    expr.instructions.push_back(part.instructions[0]);
  }
  if (type != DataType::kF32) {
    auto cast = ops::ScalarExpr::castTo(type).instructions[0];
    cast.arguments[0] = ops::ScalarArgument::result(static_cast<int>(conditions.size()) - 1);
    expr.instructions.push_back(cast);
  }
  return {expr};
}

}  // namespace

ValueId addMasks(const Graph& graph, graph::Patch& patch, const AttentionScores& scores, const Shape& space,
                 const std::vector<Shape>& shapes, DataType type, const std::string& name) {
  std::vector<ValueId> numbers;
  std::vector<const ScoreMask*> conditions;
  std::vector<ValueId> conditionValues;
  for (size_t i = 0; i < scores.masks.size(); ++i) {
    const ScoreMask& mask = scores.masks[i];
    ValueId value = mask.value;
    const bool broadcasts = mask.scores == space;
    if (!broadcasts && !(graph.value(value).type.shape == shapes[i]))
      value = patch.add(ops::Reshape{shapes[i]}, name + "_mask", {value}, {});
    if (mask.condition) {
      conditions.push_back(&mask);
      conditionValues.push_back(value);
      continue;
    }
    if (mask.factor != 1) value = patch.add(timesNumber(mask.factor), name + "_mask", {value}, {});
    numbers.push_back(value);
  }
  if (!conditions.empty())
    numbers.push_back(patch.add(numbersOf(conditions, type), name + "_mask", std::move(conditionValues), {}));
  ValueId sum = numbers.front();
  for (size_t i = 1; i < numbers.size(); ++i)
    sum = patch.add(ops::Pointwise{ops::ScalarExpr::of(ScalarOp::k_add)}, name + "_masks", {sum, numbers[i]}, {});
  return sum;
}

}  // namespace tenon::passes
