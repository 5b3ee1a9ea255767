// matmul(softmax(scale * matmul(q, transpose(k)) + mask), v) => attention(q, k, v, mask), as exporters write it: scores
// that are capped, masks that are added or chosen by conditions, rows without a key set to 0 behind the softmax, casts
// around it, one head of keys for all queries, values with a column for each key, which give columns.
#include "passes/common/pass.h"

#include <algorithm>
#include <numeric>

#include "ops/op/attention.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/softmax.h"
#include "ops/op/transpose.h"
#include "passes/common/attention_scores.h"
#include "passes/common/broadcast.h"
#include "passes/common/reduced.h"

namespace tenon::passes {
namespace {

// An operand with a row for each query or key, or with a column.
struct Operand {
  ValueId value = graph::kNone;
  bool columns = false;
};

ops::Transpose lastTwo(int rank) {
  ops::Transpose swapped;
  swapped.permutation.resize(static_cast<size_t>(rank));
  std::iota(swapped.permutation.begin(), swapped.permutation.end(), 0);
  std::swap(swapped.permutation.end()[-1], swapped.permutation.end()[-2]);
  return swapped;
}

// What a value is the transpose of, of its last two axes.
Operand withoutTranspose(const Graph& graph, ValueId value) {
  const auto* op = producerOp<ops::Transpose>(graph, value);
  const int rank = graph.value(value).type.rank();
  if (op == nullptr || rank < 2 || op->permutation != lastTwo(rank).permutation) return {value, false};
  return {graph.node(graph.value(value).producer).inputs[0], true};
}

// x where the term is exp(s) / sum(exp(s)) with s = x - max(x) along the last axis, as some libraries write a softmax.
std::optional<ValueId> writtenSoftmax(const Graph& graph, const Terms& terms, const Term& term) {
  const auto quotient = terms.pair(term, ScalarOp::k_div);
  if (!quotient || !terms.is(quotient->first, ScalarOp::k_exp)) return std::nullopt;
  const auto sum = reducedBy(graph, terms, quotient->second, ops::ReduceOp::kSum);
  const auto shifted = terms.pair(terms.operand(quotient->first, 0), ScalarOp::k_sub);
  if (!sum || !shifted || !(terms.of(sum->input) == quotient->first)) return std::nullopt;
  const auto most = reducedBy(graph, terms, shifted->second, ops::ReduceOp::kMax);
  const auto x = terms.value(shifted->first);
  if (!most || !x || most->axis != sum->axis || !(terms.of(most->input) == shifted->first)) return std::nullopt;
  const auto& type = graph.value(*x).type;
  return most->axis == type.rank() - 1 && type == graph.value(term.value).type ? x : std::nullopt;
}

// What the softmax is of whose result a value is, as such or with 0 for what is no number, perhaps with other leading
// axes.
std::optional<ValueId> matchSoftmax(const Graph& graph, const Terms& terms, ValueId weights, bool& emptyIsZero) {
  Term term = withoutCasts(terms, terms.of(weights));
  while (term.kind == Term::Kind::kValue && keepsRows(graph, term.value))
    term = withoutCasts(terms, terms.of(graph.node(graph.value(term.value).producer).inputs[0]));
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
  if (term.kind != Term::Kind::kValue) return writtenSoftmax(graph, terms, term);
  const auto* softmax = producerOp<ops::Softmax>(graph, term.value);
  const int rank = graph.value(term.value).type.rank();
  return softmax != nullptr && !softmax->logarithm && (softmax->axis == -1 || softmax->axis == rank - 1)
             ? std::optional(graph.node(graph.value(term.value).producer).inputs[0])
             : std::nullopt;
}

struct Found {
  Operand q, k, v;
  bool givesColumns = false;  // the result is that of the attention, transposed
  ops::Attention op;
  AttentionScores scores;
  Shape space;                           // of the scores that attention computes
  std::vector<Shape> masks, rowFactors;  // each there
  std::vector<NodeId> from;

  Shape rowsOf(const Graph& graph, const Operand& operand) const {
    Shape shape = graph.value(operand.value).type.shape;
    if (operand.columns) std::swap(shape.end()[-1], shape.end()[-2]);
    return shape;
  }
};

// The shapes of masks and factors where the scores are those of the product, or else where they have most axes; false
// where neither can be.
bool findSpace(const Graph& graph, Found& found) {
  const Shape& product = graph.value(found.scores.product).type.shape;
  std::vector<Shape> spaces{product};
  const auto& masks = found.scores.masks;
  const auto& factors = found.scores.factors;
  for (const auto& mask : masks) {
    if (mask.scores.size() > spaces.back().size()) spaces.push_back(mask.scores);
  }
  const auto shapesIn = [&](const Shape& space, const auto& operands) {
    std::vector<Shape> shapes;
    for (const auto& operand : operands) {
      auto shape = throughReshape(graph.value(operand.value).type.shape, operand.scores, space);
      if (shape) shapes.push_back(std::move(*shape));
    }
    return shapes;
  };
  for (const auto& space : {spaces.front(), spaces.back()}) {
    found.space = space;
    found.masks = shapesIn(space, masks);
    found.rowFactors = shapesIn(space, factors);
    if (found.masks.size() == masks.size() && found.rowFactors.size() == factors.size() &&
        throughReshape(product, product, space))
      return true;
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

bool haveLeads(const Shape& shape, const Shape& of) {
  return shape.size() == of.size() && std::equal(of.begin(), of.end() - 2, shape.begin());
}

// Whether there is one head of keys and values for all those of the queries.
bool isOneForAll(const Shape& keys, const Shape& scores) {
  const size_t rank = scores.size();
  return rank >= 3 && keys.size() == rank && keys[rank - 3].isConstant(1) && scores[rank - 3].isConstant() &&
         scores[rank - 3].constant() > 1 && std::equal(keys.begin(), keys.end() - 3, scores.begin());
}

// The leading extents of q and k are those of their product, those of v those of the weights; attention broadcasts only
// the mask, and keys that all heads share.
bool haveFittingLeads(const Graph& graph, const Found& found, const Shape& weights) {
  const Shape& product = graph.value(found.scores.product).type.shape;
  if (!haveLeads(found.rowsOf(graph, found.q), product)) return false;
  const Shape k = found.rowsOf(graph, found.k);
  const Shape v = found.rowsOf(graph, found.v);
  if (haveLeads(k, product)) return haveLeads(v, weights);
  return found.space == product && isOneForAll(k, product) && isOneForAll(v, product) && weights == product;
}

// The weights and the values of a product: weights * v, or v * transpose(weights).
struct Outer {
  ValueId weights;
  Operand v;
  bool givesColumns;
};
std::vector<Outer> outersOf(const Graph& graph, const Node& node) {
  std::vector<Outer> result;
  const auto* op = node.op.as<ops::MatMul>();
  if (op == nullptr || !op->epilogue.empty()) return result;
  if (!op->transposeA) result.push_back({node.inputs[0], {node.inputs[1], op->transposeB}, false});
  const Operand right = withoutTranspose(graph, node.inputs[1]);
  if (right.columns != op->transposeB) result.push_back({right.value, {node.inputs[0], !op->transposeA}, true});
  return result;
}

std::optional<Found> match(const Graph& graph, NodeId id, const Outer& outer) {
  const auto& node = graph.node(id);
  const Terms terms(graph);
  Found found;
  const auto operand = matchSoftmax(graph, terms, outer.weights, found.op.emptyIsZero);
  if (!operand) return std::nullopt;
  auto scores = matchScores(graph, terms, terms.of(*operand));
  if (!scores) return std::nullopt;
  found.scores = std::move(*scores);
  const auto& product = graph.node(graph.value(found.scores.product).producer);
  const auto* inner = product.op.as<ops::MatMul>();
  found.q = {product.inputs[0], inner->transposeA};
  found.k = {product.inputs[1], !inner->transposeB};
  found.v = outer.v;
  found.givesColumns = outer.givesColumns;
  const auto type = graph.value(found.q.value).type.dtype;
  const auto fits = [&](const ScoreMask& mask) { return mask.condition || graph.value(mask.value).type.dtype == type; };
  const auto& masks = found.scores.masks;
  const auto& factors = found.scores.factors;
  const auto isOther = [&](const RowFactor& factor) { return graph.value(factor.value).type.dtype != type; };
  if (std::any_of(factors.begin(), factors.end(), isOther)) return std::nullopt;
  if (!isFloating(type) || graph.value(node.outputs[0]).type.dtype != type ||
      !std::all_of(masks.begin(), masks.end(), fits) || !findSpace(graph, found) ||
      !haveFittingLeads(graph, found, graph.value(outer.weights).type.shape))
    return std::nullopt;
  found.op.scale = found.scores.scale;
  found.op.softcap = found.scores.softcap;
  found.op.hasMask = !masks.empty();
  std::vector<ValueId> sources{found.q.value, found.k.value, found.v.value};
  for (const auto& mask : masks) sources.push_back(mask.value);
  for (const auto& factor : factors) sources.push_back(factor.value);
  found.from = Terms::nodesBetween(graph, node.outputs[0], sources);
  return isClosed(graph, found.from, id) ? std::optional(found) : std::nullopt;
}

// The types of q, k and v where the scores stand, with a row for each query or key.
std::vector<ops::TensorType> operandTypes(const Graph& graph, const Found& found) {
  const auto type = graph.value(found.q.value).type.dtype;
  std::vector<ops::TensorType> types;
  for (const auto& operand : {found.q, found.k, found.v}) {
    const Shape rows = found.rowsOf(graph, operand);
    Shape shape(found.space.begin(), found.space.end() - 2);
    if (isOneForAll(rows, found.space)) shape.back() = Extent(1);
    shape.insert(shape.end(), rows.end() - 2, rows.end());
    types.push_back({type, std::move(shape), std::nullopt});
  }
  return types;
}

bool replace(Graph& graph, NodeId id, const Found& found, const Options& options) {
  auto types = operandTypes(graph, found);
  const auto operands = types;
  const auto type = types[0].dtype;
  if (found.op.hasMask) types.push_back({type, broadcastShape(found.masks), std::nullopt});
  if (options.computes && !options.computes(found.op, types)) return false;
  const auto name = graph.node(id).name;
  const auto output = graph.node(id).outputs[0];
  const Shape outShape = graph.value(output).type.shape;
  graph::Patch patch(graph);
  std::vector<ValueId> inputs;
  const char* const labels[] = {"_queries", "_keys", "_values"};
  for (const auto& operand : {found.q, found.k, found.v}) {
    const size_t i = inputs.size();
    ValueId value = operand.value;
    if (operand.columns) value = patch.add(lastTwo(graph.value(value).type.rank()), name + labels[i], {value}, {});
    if (!(found.rowsOf(graph, operand) == operands[i].shape))
      value = patch.add(ops::Reshape{operands[i].shape}, name + "_split", {value}, {});
    inputs.push_back(value);
  }
  for (size_t i = 0; i < found.rowFactors.size(); ++i) {
    ValueId factor = found.scores.factors[i].value;
    if (!(graph.value(factor).type.shape == found.rowFactors[i]))
      factor = patch.add(ops::Reshape{found.rowFactors[i]}, name + "_factor", {factor}, {});
    inputs[0] = patch.add(ops::Pointwise{ScalarExpr::of(ScalarOp::k_mul)}, name + "_queries", {inputs[0], factor}, {});
  }
  if (found.op.hasMask) inputs.push_back(addMasks(graph, patch, found.scores, found.space, found.masks, type, name));
  ValueId result = patch.add(found.op, name, std::move(inputs), found.from);
  Shape shape(found.space.begin(), found.space.end() - 1);
  shape.push_back(operands[2].shape.back());
  if (found.givesColumns) {
    result = patch.add(lastTwo(static_cast<int>(shape.size())), name + "_columns", {result}, found.from);
    std::swap(shape.end()[-1], shape.end()[-2]);
  }
  if (!(shape == outShape)) result = patch.add(ops::Reshape{outShape}, name + "_joined", {result}, found.from);
  patch.replace(output, result);
  patch.commit();
  return true;
}

bool findOne(Graph& graph, NodeId id, const Options& options) {
  for (const auto& outer : outersOf(graph, graph.node(id))) {
    const auto found = match(graph, id, outer);
    if (found) return replace(graph, id, *found, options);
  }
  return false;
}

}  // namespace

int pass_find_attention(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return findOne(graph, id, options); });
}

}  // namespace tenon::passes
