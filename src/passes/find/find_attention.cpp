// matmul(softmax(scale * matmul(q, transpose(k)) + mask), v) => attention(q, k, v, mask), as exporters write it: the
// mask added or chosen by a condition, rows without a key set to 0 behind the softmax, casts around it.
#include "passes/common/pass.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/op/attention.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/softmax.h"
#include "ops/op/transpose.h"
#include "passes/common/broadcast.h"
#include "passes/common/terms.h"

namespace tenon::passes {
namespace {

// What stands for "this key is left out" where a condition chooses: added to any score it gives itself.
constexpr double kClosed = -1e30;

struct Mask {
  ValueId value;
  Shape scores;  // to which it was added
};

struct Scores {
  ValueId product = graph::kNone;
  double scale = 1;
  std::vector<Mask> masks;           // added, or
  ValueId condition = graph::kNone;  // true where `closed` takes the place of the score
  Shape conditional;                 // the scores there
  bool closedWhere = true;           // or false
  double closed = 0;

  bool isMasked() const { return !masks.empty() || condition != graph::kNone; }
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
    scores->conditional = graph.value(term.value).type.shape;
    scores->closedWhere = closedWhere;
    scores->closed = closed.literal;
    return scores;
  }
  return std::nullopt;
}

// A reshape that only cuts or joins the leading axes.
bool keepsRows(const Graph& graph, ValueId value) {
  if (producerOp<ops::Reshape>(graph, value) == nullptr) return false;
  const Shape& after = graph.value(value).type.shape;
  const Shape& before = graph.value(graph.node(graph.value(value).producer).inputs[0]).type.shape;
  return after.size() >= 2 && before.size() >= 2 && std::equal(after.end() - 2, after.end(), before.end() - 2);
}

// scale * product + masks.
std::optional<Scores> matchScores(const Graph& graph, const Terms& terms, const Term& outer) {
  const Term term = withoutCasts(terms, outer);
  if (term.kind == Term::Kind::kValue) {
    if (keepsRows(graph, term.value))
      return matchScores(graph, terms, terms.of(graph.node(graph.value(term.value).producer).inputs[0]));
    const auto* op = producerOp<ops::MatMul>(graph, term.value);
    return op != nullptr && op->epilogue.empty() && !op->transposeA ? std::optional(Scores{term.value}) : std::nullopt;
  }
  if (const auto product = terms.withLiteral(term, ScalarOp::k_mul))
    return scaled(graph, terms, product->first, product->second);
  if (const auto quotient = terms.pair(term, ScalarOp::k_div);
      quotient && quotient->second.kind == Term::Kind::kLiteral) {
    return quotient->second.literal == 0 ? std::nullopt
                                         : scaled(graph, terms, quotient->first, 1 / quotient->second.literal);
  }
  if (terms.is(term, ScalarOp::k_select)) return chosen(graph, terms, term);
  const auto sum = terms.pair(term, ScalarOp::k_add);
  if (!sum) return std::nullopt;
  for (const auto& [inner, mask] : {*sum, std::pair(sum->second, sum->first)}) {
    const auto value = terms.value(mask);
    auto scores = value ? matchScores(graph, terms, inner) : std::nullopt;
    if (!scores || scores->condition != graph::kNone) continue;
    scores->masks.push_back({*value, graph.value(term.value).type.shape});
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
    if (!terms.is(test, ScalarOp::k_isnan) || zero.kind != Term::Kind::kLiteral || zero.literal != 0)
      return std::nullopt;
    if (!(withoutCasts(terms, terms.operand(test, 0)) == otherwise)) return std::nullopt;
    emptyIsZero = true;
    term = otherwise;
  }
  if (term.kind != Term::Kind::kValue) return std::nullopt;
  const auto* softmax = producerOp<ops::Softmax>(graph, term.value);
  const int rank = graph.value(term.value).type.rank();
  return softmax != nullptr && !softmax->logarithm && (softmax->axis == -1 || softmax->axis == rank - 1)
             ? std::optional(term.value)
             : std::nullopt;
}

struct Found {
  ValueId q, k, v;
  bool keysAreColumns;  // k is transposed
  ops::Attention op;
  Scores scores;
  Shape space;               // of the scores that attention computes
  std::vector<Shape> masks;  // each there
  std::vector<NodeId> from;
};

// The masks' shapes where the scores are those of the product, or else where they have most axes; false where neither
// can be.
bool findSpace(const Graph& graph, Found& found) {
  const Shape& product = graph.value(found.scores.product).type.shape;
  std::vector<Shape> spaces{product};
  for (const auto& mask : found.scores.masks) {
    if (mask.scores.size() > spaces.back().size()) spaces.push_back(mask.scores);
  }
  for (const auto& space : {spaces.front(), spaces.back()}) {
    found.space = space;
    found.masks.clear();
    for (const auto& mask : found.scores.masks) {
      auto shape = throughReshape(graph.value(mask.value).type.shape, mask.scores, space);
      if (shape) found.masks.push_back(std::move(*shape));
    }
    if (found.masks.size() == found.scores.masks.size() && throughReshape(product, product, space)) return true;
  }
  return false;
}

// Nobody else reads what lies between, and nothing there is demanded.
bool isClosed(const Graph& graph, const std::vector<NodeId>& nodes, NodeId last) {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    if (id == last) return true;
    return std::all_of(graph.node(id).outputs.begin(), graph.node(id).outputs.end(), [&](ValueId output) {
      if (graph.isOutput(output) || graph.value(output).constraints != graph::Constraints{}) return false;
      return std::all_of(graph.uses(output).begin(), graph.uses(output).end(), [&](const graph::Use& use) {
        return std::find(nodes.begin(), nodes.end(), use.node) != nodes.end();
      });
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

std::optional<Found> match(const Graph& graph, NodeId id) {
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
  Found found{product.inputs[0], product.inputs[1], node.inputs[1], columns, {}, *written, {}, {}, {}};
  if (!haveEqualLeads(graph, found)) return std::nullopt;
  const auto type = graph.value(found.q).type.dtype;
  const auto otherType = [&](const Mask& mask) { return graph.value(mask.value).type.dtype != type; };
  if (std::any_of(written->masks.begin(), written->masks.end(), otherType) || !findSpace(graph, found))
    return std::nullopt;
  if (written->condition != graph::kNone && written->conditional != graph.value(scores).type.shape) return std::nullopt;
  if (graph.value(node.outputs[0]).type.dtype != type || !isFloating(type)) return std::nullopt;
  found.op.scale = written->scale;
  found.op.hasMask = written->isMasked();
  found.op.emptyIsZero = emptyIsZero;
  std::vector<ValueId> sources{found.q, found.k, found.v};
  for (const auto& mask : written->masks) sources.push_back(mask.value);
  if (written->condition != graph::kNone) sources.push_back(written->condition);
  found.from = Terms::nodesBetween(graph, node.outputs[0], sources);
  return isClosed(graph, found.from, id) ? std::optional(found) : std::nullopt;
}

// The condition as numbers to add; layers that share the condition come to share them.
ops::Pointwise addedFor(const Scores& scores, DataType type) {
  const auto closed = ops::ScalarArgument::constant(scores.closed);
  const auto open = ops::ScalarArgument::constant(0);
  auto expr = ops::ScalarExpr::of(
      ScalarOp::k_select,
      {ops::ScalarArgument::input(0), scores.closedWhere ? closed : open, scores.closedWhere ? open : closed});
  if (type != DataType::kF32) {
    auto cast = ops::ScalarExpr::castTo(type).instructions[0];
    cast.arguments[0] = ops::ScalarArgument::result(0);
    expr.instructions.push_back(cast);
  }
  return {expr};
}

// The sum of the masks in the space of the scores.
ValueId addMasks(const Graph& graph, graph::Patch& patch, const Found& found, const std::string& name) {
  ValueId sum = graph::kNone;
  for (size_t i = 0; i < found.masks.size(); ++i) {
    ValueId mask = found.scores.masks[i].value;
    const Shape& shape = graph.value(mask).type.shape;
    const bool broadcasts = found.scores.masks[i].scores == found.space;
    if (!broadcasts && !(shape == found.masks[i]))
      mask = patch.add(ops::Reshape{found.masks[i]}, name + "_mask", {mask}, {});
    sum = i == 0 ? mask
                 : patch.add(ops::Pointwise{ops::ScalarExpr::of(ScalarOp::k_add)}, name + "_masks", {sum, mask}, {});
  }
  return sum;
}

bool findOne(Graph& graph, NodeId id, const Options& options) {
  const auto found = match(graph, id);
  if (!found) return false;
  const Shape leads(found->space.begin(), found->space.end() - 2);
  const auto type = graph.value(found->q).type.dtype;
  // As rows of each operand in that space.
  std::vector<ops::TensorType> types;
  for (const auto operand : {found->q, found->k, found->v}) {
    Shape shape = graph.value(operand).type.shape;
    if (operand == found->k && types.size() == 1 && found->keysAreColumns) std::swap(shape.end()[-1], shape.end()[-2]);
    types.push_back({type, leads, std::nullopt});
    types.back().shape.insert(types.back().shape.end(), shape.end() - 2, shape.end());
  }
  const bool conditional = found->scores.condition != graph::kNone;
  const auto operands = types;
  if (conditional) types.push_back({type, graph.value(found->scores.condition).type.shape, std::nullopt});
  if (!conditional && found->op.hasMask) types.push_back({type, broadcastShape(found->masks), std::nullopt});
  if (options.computes && !options.computes(found->op, types)) return false;
  const auto name = graph.node(id).name;
  const auto output = graph.node(id).outputs[0];
  const Shape outShape = graph.value(output).type.shape;
  graph::Patch patch(graph);
  std::vector<ValueId> inputs{found->q, found->k, found->v};
  if (found->keysAreColumns) {
    ops::Transpose rows;
    rows.permutation.resize(static_cast<size_t>(graph.value(found->k).type.rank()));
    std::iota(rows.permutation.begin(), rows.permutation.end(), 0);
    std::swap(rows.permutation.end()[-1], rows.permutation.end()[-2]);
    inputs[1] = patch.add(rows, name + "_keys", {found->k}, {});
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!(graph.value(inputs[i]).type.shape == operands[i].shape))
      inputs[i] = patch.add(ops::Reshape{operands[i].shape}, name + "_split", {inputs[i]}, {});
  }
  if (conditional) {
    inputs.push_back(patch.add(addedFor(found->scores, type), name + "_mask", {found->scores.condition}, {}));
  } else if (found->op.hasMask) {
    inputs.push_back(addMasks(graph, patch, *found, name));
  }
  ValueId result = patch.add(found->op, name, std::move(inputs), found->from);
  if (!(graph.value(result).type.shape == outShape))
    result = patch.add(ops::Reshape{outShape}, name + "_joined", {result}, found->from);
  patch.replace(output, result);
  patch.commit();
  return true;
}

}  // namespace

int pass_find_attention(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return findOne(graph, id, options); });
}

}  // namespace tenon::passes
