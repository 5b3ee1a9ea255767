// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) => normalization(x, 1, 0), and x / sqrt(mean(x^2) + epsilon)
// the same without a mean; a scale and a shift behind it become its own, casts around it go; and
// reshape(normalization(reshape(x))) over groups of channels is a normalization with groups.
#include "passes/common/pass.h"

#include <algorithm>
#include <numeric>

#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "passes/common/terms.h"

namespace tenon::passes {
namespace {

struct Written {
  ValueId x = graph::kNone;
  std::vector<int64_t> axes;
  double epsilon = 0;
  bool centered = true;
};

// The mean over axes that stay with extent 1: its input and axes.
const ops::Reduce* meanOf(const Graph& graph, const Terms& terms, const Term& term, ValueId& input) {
  const auto value = terms.value(term);
  const auto* reduce = value ? producerOp<ops::Reduce>(graph, *value) : nullptr;
  if (reduce == nullptr || reduce->op != ops::ReduceOp::kAvg || !reduce->keepDims) return nullptr;
  input = graph.node(graph.value(*value).producer).inputs[0];
  return reduce;
}

// sqrt(v) as a term, however it is written; v.
std::optional<Term> underRoot(const Terms& terms, const Term& term) {
  if (terms.is(term, ScalarOp::k_sqrt)) return terms.operand(term, 0);
  const auto power = terms.pair(term, ScalarOp::k_pow);
  return power && power->second == Term{Term::Kind::kLiteral, graph::kNone, 0, 0.5} ? std::optional(power->first)
                                                                                    : std::nullopt;
}

// 1 / sqrt(v) as a term; v.
std::optional<Term> underInverseRoot(const Terms& terms, const Term& term) {
  if (terms.is(term, ScalarOp::k_rsqrt)) return terms.operand(term, 0);
  if (terms.is(term, ScalarOp::k_recip)) return underRoot(terms, terms.operand(term, 0));
  if (const auto quotient = terms.pair(term, ScalarOp::k_div);
      quotient && quotient->first == Term{Term::Kind::kLiteral, graph::kNone, 0, 1}) {
    return underRoot(terms, quotient->second);
  }
  const auto power = terms.pair(term, ScalarOp::k_pow);
  return power && power->second == Term{Term::Kind::kLiteral, graph::kNone, 0, -0.5} ? std::optional(power->first)
                                                                                     : std::nullopt;
}

// Axes in ascending order, none negative.
std::vector<int64_t> normalAxes(std::vector<int64_t> axes, int rank) {
  for (auto& axis : axes) axis = axis < 0 ? axis + rank : axis;
  std::sort(axes.begin(), axes.end());
  return axes;
}

// `deviation` must be x - mean(x) and `variance` the mean of its square plus epsilon.
std::optional<Written> matchParts(const Graph& graph, const Terms& terms, const Term& deviation, const Term& variance) {
  const auto difference = terms.pair(deviation, ScalarOp::k_sub);
  const auto sum = terms.withLiteral(variance, ScalarOp::k_add);
  if (!difference || !sum || sum->second < 0) return std::nullopt;
  ValueId meanInput = graph::kNone;
  ValueId squares = graph::kNone;
  const auto* mean = meanOf(graph, terms, difference->second, meanInput);
  const auto* meanOfSquares = meanOf(graph, terms, sum->first, squares);
  const auto x = terms.value(difference->first);
  if (mean == nullptr || meanOfSquares == nullptr || !x || !(terms.of(meanInput) == difference->first))
    return std::nullopt;
  const auto squared = terms.square(terms.of(squares));
  if (!squared || !(*squared == deviation) || !isFloating(graph.value(*x).type.dtype)) return std::nullopt;
  const int rank = graph.value(*x).type.rank();
  const auto axes = normalAxes(mean->axes, rank);
  if (axes != normalAxes(meanOfSquares->axes, rank)) return std::nullopt;
  return Written{*x, axes, sum->second};
}

// `term` must be x and `meanSquare` the mean of its square plus epsilon.
std::optional<Written> matchRootMeanSquare(const Graph& graph, const Terms& terms, const Term& term,
                                           const Term& meanSquare) {
  const auto sum = terms.withLiteral(meanSquare, ScalarOp::k_add);
  const auto x = terms.value(term);
  if (!sum || sum->second < 0 || !x || !isFloating(graph.value(*x).type.dtype)) return std::nullopt;
  ValueId squares = graph::kNone;
  const auto* mean = meanOf(graph, terms, sum->first, squares);
  if (mean == nullptr || mean->axes.empty()) return std::nullopt;
  const auto squared = terms.square(terms.of(squares));
  if (!squared || !(*squared == term)) return std::nullopt;
  return Written{*x, normalAxes(mean->axes, graph.value(*x).type.rank()), sum->second, false};
}

std::optional<Written> matchQuotient(const Graph& graph, const Terms& terms, const Term& dividend,
                                     const Term& underRoot) {
  const auto found = matchParts(graph, terms, dividend, underRoot);
  return found ? found : matchRootMeanSquare(graph, terms, dividend, underRoot);
}

// The term as (x - mean) / root or x / root, in either way of dividing.
std::optional<Written> matchNormal(const Graph& graph, const Terms& terms, const Term& term) {
  if (const auto quotient = terms.pair(term, ScalarOp::k_div)) {
    if (const auto variance = underRoot(terms, quotient->second))
      return matchQuotient(graph, terms, quotient->first, *variance);
  }
  const auto product = terms.pair(term, ScalarOp::k_mul);
  if (!product) return std::nullopt;
  for (const auto& [deviation, factor] : {*product, std::pair(product->second, product->first)}) {
    const auto variance = underInverseRoot(terms, factor);
    if (!variance) continue;
    if (const auto found = matchQuotient(graph, terms, deviation, *variance)) return found;
  }
  return std::nullopt;
}

// What stands between must be free to go: nobody demands anything of it.
bool areFree(const Graph& graph, const std::vector<NodeId>& nodes, ValueId output) {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const ValueId value = graph.node(id).outputs[0];
    return value == output || graph.value(value).constraints == graph::Constraints{};
  });
}

bool findOne(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  if (node.op.as<ops::Pointwise>() == nullptr) return false;
  const ValueId output = node.outputs[0];
  const Terms terms(graph);
  const auto found = matchNormal(graph, terms, terms.of(output));
  if (!found || graph.value(output).type != graph.value(found->x).type) return false;
  const DataType type = graph.value(output).type.dtype;
  const auto from = Terms::nodesBetween(graph, output, {found->x});
  const ops::Operator op = ops::Normalization{found->axes, found->epsilon, 1, found->centered};
  const ops::TensorType types[] = {graph.value(found->x).type, {type, {}, std::nullopt}, {type, {}, std::nullopt}};
  if (!areFree(graph, from, output) || (options.computes && !options.computes(op, types))) return false;
  const auto name = node.name;
  graph::Patch patch(graph);
  const ValueId one = patch.addConstant(Constant::scalar(type, 1), name + "_scale");
  const ValueId zero = patch.addConstant(Constant::scalar(type, 0), name + "_bias");
  patch.replace(output, patch.add(op, name, {found->x, one, zero}, from));
  patch.commit();
  return true;
}

bool isAll(const graph::Value& value, double number) {
  return value.constant != nullptr && value.constant->count() == 1 && value.constant->view().loadDouble(0) == number;
}

// Whether an operand may be a scale of x: it stretches x nowhere, and no rank of x's own gives its channels a second
// meaning.
bool fitsScale(const graph::Value& operand, const graph::Value& x, int64_t groups) {
  const int rank = operand.type.rank();
  if (rank > x.type.rank() || (groups > 1 && rank == x.type.rank() && operand.type.shape[1].isConstant(groups)))
    return false;
  for (int i = 0; i < rank; ++i) {
    const auto& extent = operand.type.shape[static_cast<size_t>(i)];
    if (!extent.isConstant(1) && !(extent == x.type.shape[static_cast<size_t>(i + x.type.rank() - rank)])) return false;
  }
  return operand.type.dtype == x.type.dtype;
}

// normalization(x, 1, 0) * s => normalization(x, s, 0); normalization(x, s, 0) + t => normalization(x, s, t).
bool takeScale(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Normalization>();
  const auto use = op == nullptr ? std::nullopt : onlyUse(graph, node.outputs[0]);
  if (!use || op->keepSum) return false;
  const auto& next = graph.node(use->node);
  const auto* pointwise = next.op.as<ops::Pointwise>();
  if (pointwise == nullptr || next.inputs.size() != 2 || pointwise->expr.instructions.size() != 1) return false;
  const auto kind = pointwise->expr.instructions[0].op;
  const bool product =
      kind == ScalarOp::k_mul && isAll(graph.value(node.inputs[1]), 1) && isAll(graph.value(node.inputs[2]), 0);
  const bool sum = kind == ScalarOp::k_add && isAll(graph.value(node.inputs[2]), 0);
  const ValueId other = next.inputs[next.inputs[0] == node.outputs[0] ? 1 : 0];
  if ((!product && !sum) || !fitsScale(graph.value(other), graph.value(node.inputs[0]), op->groups)) return false;
  // Only what is there already: a scale that is computed must not depend on the normalization.
  if (graph.value(other).constant == nullptr && !graph.value(other).isInput) return false;
  if (!(graph.value(next.outputs[0]).type == graph.value(node.outputs[0]).type)) return false;
  auto inputs = node.inputs;
  inputs[product ? 1 : 2] = other;
  // Scale and bias have one type: where they would not, the other one must be the number that it began as.
  const size_t rest = product ? 2 : 1;
  const bool differs = graph.value(inputs[rest]).type.dtype != graph.value(other).type.dtype;
  if (differs && !isAll(graph.value(inputs[rest]), product ? 0 : 1)) return false;
  const NodeId from[] = {id, use->node};
  const auto merged = node.op;
  const auto output = next.outputs[0];
  const auto name = node.name;
  const DataType type = graph.value(other).type.dtype;
  graph::Patch patch(graph);
  if (differs) {
    inputs[rest] = patch.addConstant(Constant::scalar(type, product ? 0 : 1), name + (product ? "_bias" : "_scale"));
  }
  patch.replace(output, patch.add(merged, name, std::move(inputs), from));
  patch.commit();
  return true;
}

// x [N,C,spatial...] -> [N,G,M], normalized over M, -> [N,C,spatial...].
bool takeGroups(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Normalization>();
  if (op == nullptr || op->groups != 1 || op->skip || !isAll(graph.value(node.inputs[1]), 1) ||
      !isAll(graph.value(node.inputs[2]), 0))
    return false;
  const auto use = onlyUse(graph, node.outputs[0]);
  if (!use || graph.node(use->node).op.as<ops::Reshape>() == nullptr ||
      producerOp<ops::Reshape>(graph, node.inputs[0]) == nullptr)
    return false;
  const NodeId before = graph.value(node.inputs[0]).producer;
  const ValueId x = graph.node(before).inputs[0];
  const ValueId output = graph.node(use->node).outputs[0];
  const Shape& shape = graph.value(x).type.shape;
  const Shape& grouped = graph.value(node.inputs[0]).type.shape;
  if (shape != graph.value(output).type.shape || shape.size() < 3 || grouped.size() < 3) return false;
  if (!(grouped[0] == shape[0]) || !grouped[1].isConstant() || !shape[1].isConstant()) return false;
  const int64_t groups = grouped[1].constant();
  std::vector<int64_t> rest(grouped.size() - 2);
  std::iota(rest.begin(), rest.end(), 2);
  auto axes = op->axes;
  for (auto& axis : axes) axis = axis < 0 ? axis + static_cast<int64_t>(grouped.size()) : axis;
  std::sort(axes.begin(), axes.end());
  if (axes != rest || groups < 1 || shape[1].constant() % groups != 0) return false;
  ops::Normalization merged{{}, op->epsilon, groups, op->centered};
  for (int64_t axis = 2; axis < static_cast<int64_t>(shape.size()); ++axis) merged.axes.push_back(axis);
  if (groups == 1) merged.axes.insert(merged.axes.begin(), 1);
  const NodeId from[] = {before, id, use->node};
  const std::vector<ValueId> inputs{x, node.inputs[1], node.inputs[2]};
  const auto name = node.name;
  graph::Patch patch(graph);
  patch.replace(output, patch.add(std::move(merged), name, inputs, from));
  patch.commit();
  return true;
}

// cast(normalization(cast(x), s, t)) back to the type of x => normalization(x, s, t): kernels compute in f32 anyway.
bool takeCasts(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Normalization>();
  if (op == nullptr || op->skip) return false;
  const auto use = onlyUse(graph, node.outputs[0]);
  const auto* before = producerOp<ops::Pointwise>(graph, node.inputs[0]);
  const auto* behind = use ? graph.node(use->node).op.as<ops::Pointwise>() : nullptr;
  if (before == nullptr || behind == nullptr) return false;
  const auto& wide = graph.value(node.inputs[0]);
  const ValueId x = graph.node(wide.producer).inputs[0];
  const auto& type = graph.value(x).type;
  if (wide.type.dtype != DataType::kF32 || (type.dtype != DataType::kF16 && type.dtype != DataType::kBF16))
    return false;
  if (before->expr != ops::ScalarExpr::castTo(wide.type.dtype) || behind->expr != ops::ScalarExpr::castTo(type.dtype))
    return false;
  const ops::TensorType types[] = {type, graph.value(node.inputs[1]).type, graph.value(node.inputs[2]).type};
  if (wide.constraints != graph::Constraints{} || (options.computes && !options.computes(node.op, types))) return false;
  const NodeId from[] = {wide.producer, id, use->node};
  const auto kept = node.op;
  const auto name = node.name;
  const auto output = graph.node(use->node).outputs[0];
  const std::vector<ValueId> inputs{x, node.inputs[1], node.inputs[2]};
  graph::Patch patch(graph);
  patch.replace(output, patch.add(kept, name, inputs, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_find_normalizations(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) {
    return findOne(graph, id, options) || takeScale(graph, id) || takeGroups(graph, id) ||
           takeCasts(graph, id, options);
  });
}

}  // namespace tenon::passes
