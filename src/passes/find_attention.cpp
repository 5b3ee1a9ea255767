// matmul(softmax(scale * matmul(q, transpose(k)) + mask), v) => attention(q, k, v, mask), as exporters write it: the mask added or
// chosen by a condition, rows without a key set to 0 behind the softmax, casts around it.
#include "passes/find_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/op/attention.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/softmax.h"
#include "ops/op/transpose.h"
#include "passes/match.h"
#include "passes/terms.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using ops::ScalarOp;
using Uses = std::vector<std::vector<graph::Use>>;

// What stands for "this key is left out" where a condition chooses: added to any score it gives itself.
constexpr double kClosed = -1e30;

struct Scores {
  ValueId product = graph::kNone;
  double scale = 1;
  ValueId mask = graph::kNone;       // added, or
  ValueId condition = graph::kNone;  // true where `closed` takes the place of the score
  bool closedWhere = true;           // or false
  double closed = 0;

  bool isMasked() const { return mask != graph::kNone || condition != graph::kNone; }
};

Term withoutCasts(const Terms& terms, Term term) {
  while (terms.is(term, ScalarOp::k_cast)) term = terms.operand(term, 0);
  return term;
}

std::optional<Scores> matchScores(const Graph& graph, const Terms& terms, const Term& term);

// A factor outside the sum would scale the mask as well, so the mask is added last.
std::optional<Scores> scaled(const Graph& graph, const Terms& terms, const Term& inner, double factor) {
  auto scores = matchScores(graph, terms, inner);
  if (!scores || scores->isMasked()) return std::nullopt;
  scores->scale *= factor;
  return scores;
}

std::optional<Scores> chosen(const Graph& graph, const Terms& terms, const Term& term) {
  const auto condition = terms.value(terms.operand(term, 0));
  if (!condition || graph.value(*condition).type.dtype != DataType::kBool) return std::nullopt;
  for (const bool closedWhere : {true, false}) {
    const Term closed = terms.operand(term, closedWhere ? 1 : 2);
    if (closed.kind != Term::Kind::kLiteral || closed.literal > kClosed) continue;
    auto scores = matchScores(graph, terms, terms.operand(term, closedWhere ? 2 : 1));
    if (!scores || scores->isMasked()) return std::nullopt;
    scores->condition = *condition;
    scores->closedWhere = closedWhere;
    scores->closed = closed.literal;
    return scores;
  }
  return std::nullopt;
}

// scale * product + mask.
std::optional<Scores> matchScores(const Graph& graph, const Terms& terms, const Term& outer) {
  const Term term = withoutCasts(terms, outer);
  if (term.kind == Term::Kind::kValue) {
    const auto* op = producerOp<ops::MatMul>(graph, term.value);
    return op != nullptr && op->epilogue.empty() && !op->transposeA ? std::optional(Scores{term.value}) : std::nullopt;
  }
  if (const auto product = terms.withLiteral(term, ScalarOp::k_mul)) return scaled(graph, terms, product->first, product->second);
  if (const auto quotient = terms.pair(term, ScalarOp::k_div); quotient && quotient->second.kind == Term::Kind::kLiteral) {
    return quotient->second.literal == 0 ? std::nullopt : scaled(graph, terms, quotient->first, 1 / quotient->second.literal);
  }
  if (terms.is(term, ScalarOp::k_select)) return chosen(graph, terms, term);
  const auto sum = terms.pair(term, ScalarOp::k_add);
  if (!sum) return std::nullopt;
  for (const auto& [inner, mask] : {*sum, std::pair(sum->second, sum->first)}) {
    const auto value = terms.value(mask);
    auto scores = value ? matchScores(graph, terms, inner) : std::nullopt;
    if (!scores || scores->isMasked()) continue;
    scores->mask = *value;
    return scores;
  }
  return std::nullopt;
}

// The softmax whose result a term is, as such or with 0 for what is no number.
std::optional<ValueId> matchSoftmax(const Graph& graph, const Terms& terms, Term term, bool& emptyIsZero) {
  term = withoutCasts(terms, term);
  if (terms.is(term, ScalarOp::k_select)) {
    const Term test = terms.operand(term, 0);
    const Term otherwise = withoutCasts(terms, terms.operand(term, 2));
    const Term zero = terms.operand(term, 1);
    if (!terms.is(test, ScalarOp::k_isnan) || zero.kind != Term::Kind::kLiteral || zero.literal != 0) return std::nullopt;
    if (!(withoutCasts(terms, terms.operand(test, 0)) == otherwise)) return std::nullopt;
    emptyIsZero = true;
    term = otherwise;
  }
  if (term.kind != Term::Kind::kValue) return std::nullopt;
  const auto* softmax = producerOp<ops::Softmax>(graph, term.value);
  const int rank = graph.value(term.value).type.rank();
  return softmax != nullptr && (softmax->axis == -1 || softmax->axis == rank - 1) ? std::optional(term.value) : std::nullopt;
}

struct Found {
  ValueId q, k, v;
  bool keysAreColumns;  // k is transposed
  ops::Attention op;
  Scores scores;
  std::vector<NodeId> from;
};

// Nobody else reads what lies between, and nothing there is demanded.
bool isClosed(const Graph& graph, const Uses& uses, const std::vector<NodeId>& nodes, NodeId last) {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    if (id == last) return true;
    return std::all_of(graph.node(id).outputs.begin(), graph.node(id).outputs.end(), [&](ValueId output) {
      if (graph.isOutput(output) || graph.value(output).constraints != graph::Constraints{}) return false;
      return std::all_of(uses[output].begin(), uses[output].end(),
                         [&](const graph::Use& use) { return std::find(nodes.begin(), nodes.end(), use.node) != nodes.end(); });
    });
  });
}

// Leading extents must be equal: attention broadcasts only the mask.
bool haveEqualLeads(const Graph& graph, const Found& found) {
  const Shape& q = graph.value(found.q).type.shape;
  for (const ValueId other : {found.k, found.v}) {
    const Shape& shape = graph.value(other).type.shape;
    if (shape.size() != q.size() || !std::equal(q.begin(), q.end() - 2, shape.begin())) return false;
  }
  return true;
}

std::optional<Found> match(const Graph& graph, NodeId id, const Uses& uses) {
  const auto& node = graph.node(id);
  const auto* outer = node.op.as<ops::MatMul>();
  if (outer == nullptr || !outer->epilogue.empty() || outer->transposeA || outer->transposeB) return std::nullopt;
  const Terms terms(graph);
  bool emptyIsZero = false;
  const auto softmax = matchSoftmax(graph, terms, terms.of(node.inputs[0]), emptyIsZero);
  if (!softmax) return std::nullopt;
  const ValueId scores = graph.node(graph.value(*softmax).producer).inputs[0];
  const auto written = matchScores(graph, terms, terms.of(scores));
  if (!written || graph.value(written->product).type.shape != graph.value(scores).type.shape) return std::nullopt;
  const auto& product = graph.node(graph.value(written->product).producer);
  const bool columns = !product.op.as<ops::MatMul>()->transposeB;
  Found found{product.inputs[0], product.inputs[1], node.inputs[1], columns, {}, *written, {}};
  if (!haveEqualLeads(graph, found)) return std::nullopt;
  const auto type = graph.value(found.q).type.dtype;
  if (written->mask != graph::kNone && graph.value(written->mask).type.dtype != type) return std::nullopt;
  if (graph.value(node.outputs[0]).type.dtype != type || !isFloating(type)) return std::nullopt;
  found.op.scale = written->scale;
  found.op.hasMask = written->isMasked();
  found.op.emptyIsZero = emptyIsZero;
  std::vector<ValueId> sources{found.q, found.k, found.v};
  for (const ValueId extra : {written->mask, written->condition}) {
    if (extra != graph::kNone) sources.push_back(extra);
  }
  found.from = Terms::nodesBetween(graph, node.outputs[0], sources);
  return isClosed(graph, uses, found.from, id) ? std::optional(found) : std::nullopt;
}

// The condition as numbers to add; layers that share the condition come to share them.
ops::Pointwise addedFor(const Scores& scores, DataType type) {
  const auto closed = ops::ScalarArgument::constant(scores.closed);
  const auto open = ops::ScalarArgument::constant(0);
  auto expr = ops::ScalarExpr::of(ScalarOp::k_select,
                                  {ops::ScalarArgument::input(0), scores.closedWhere ? closed : open, scores.closedWhere ? open : closed});
  if (type != DataType::kF32) {
    auto cast = ops::ScalarExpr::castTo(type).instructions[0];
    cast.arguments[0] = ops::ScalarArgument::result(0);
    expr.instructions.push_back(cast);
  }
  return {expr};
}

bool findOne(Graph& graph, NodeId id, const Uses& uses, const Options& options) {
  const auto found = match(graph, id, uses);
  if (!found) return false;
  const auto& q = graph.value(found->q).type;
  std::vector<ops::TensorType> types{q, graph.value(found->k).type, graph.value(found->v).type};
  const size_t rank = q.shape.size();
  if (found->keysAreColumns) std::swap(types[1].shape[rank - 1], types[1].shape[rank - 2]);
  const bool conditional = found->scores.condition != graph::kNone;
  if (found->op.hasMask) {
    types.push_back({q.dtype, graph.value(conditional ? found->scores.condition : found->scores.mask).type.shape, std::nullopt});
  }
  if (options.computes && !options.computes(found->op, types)) return false;
  const auto name = graph.node(id).name;
  const auto output = graph.node(id).outputs[0];
  graph::Patch patch(graph);
  std::vector<ValueId> inputs{found->q, found->k, found->v};
  if (found->keysAreColumns) {
    ops::Transpose rows;
    rows.permutation.resize(rank);
    std::iota(rows.permutation.begin(), rows.permutation.end(), 0);
    std::swap(rows.permutation[rank - 1], rows.permutation[rank - 2]);
    inputs[1] = patch.add(rows, name + "_keys", {found->k}, {});
  }
  if (conditional) {
    inputs.push_back(patch.add(addedFor(found->scores, q.dtype), name + "_mask", {found->scores.condition}, {}));
  } else if (found->op.hasMask) {
    inputs.push_back(found->scores.mask);
  }
  patch.replace(output, patch.add(found->op, name, std::move(inputs), found->from));
  patch.commit();
  return true;
}

}  // namespace

int findAttention(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id, const Uses& uses) { return findOne(graph, id, uses, options); });
}

}  // namespace tenon::passes
