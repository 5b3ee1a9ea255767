// matmul(softmax(scale * matmul(q, transpose(k)) + mask), v) => attention(q, k, v, mask); where q, k and v are split into heads by
// reshapes and transposes, and the result is joined by one, the attention reads and writes the columns of each head itself.
#include "passes/find_attention.h"

#include <algorithm>

#include "ops/op/attention.h"
#include "ops/op/matmul.h"
#include "ops/op/reshape.h"
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
using Permutation = std::vector<int64_t>;
using Uses = std::vector<std::vector<graph::Use>>;

struct Scores {
  ValueId product = graph::kNone;
  double scale = 1;
  ValueId mask = graph::kNone;
};

const ops::MatMul* plainMatMul(const Graph& graph, ValueId value) {
  const auto* op = producerOp<ops::MatMul>(graph, value);
  return op != nullptr && op->epilogue.empty() && !op->transposeA ? op : nullptr;
}

// scale * product + mask; a factor outside the sum would scale the mask as well, so the mask is added last.
std::optional<Scores> matchScores(const Graph& graph, const Terms& terms, const Term& term) {
  if (term.kind == Term::Kind::kValue) {
    return plainMatMul(graph, term.value) != nullptr ? std::optional(Scores{term.value}) : std::nullopt;
  }
  if (const auto product = terms.withLiteral(term, ScalarOp::k_mul)) {
    auto scores = matchScores(graph, terms, product->first);
    if (!scores || scores->mask != graph::kNone) return std::nullopt;
    scores->scale *= product->second;
    return scores;
  }
  if (const auto quotient = terms.pair(term, ScalarOp::k_div); quotient && quotient->second.kind == Term::Kind::kLiteral) {
    auto scores = matchScores(graph, terms, quotient->first);
    if (!scores || scores->mask != graph::kNone || quotient->second.literal == 0) return std::nullopt;
    scores->scale /= quotient->second.literal;
    return scores;
  }
  const auto sum = terms.pair(term, ScalarOp::k_add);
  if (!sum) return std::nullopt;
  for (const auto& [inner, mask] : {*sum, std::pair(sum->second, sum->first)}) {
    const auto value = terms.value(mask);
    auto scores = value ? matchScores(graph, terms, inner) : std::nullopt;
    if (!scores || scores->mask != graph::kNone) continue;
    scores->mask = *value;
    return scores;
  }
  return std::nullopt;
}

// An operand and the transpose it comes through, if any.
struct Operand {
  ValueId value = graph::kNone;   // before the transpose
  Permutation permutation;        // empty: none
};

Operand throughTranspose(const Graph& graph, ValueId value) {
  const auto* transpose = producerOp<ops::Transpose>(graph, value);
  if (transpose == nullptr || graph.value(value).constraints != graph::Constraints{}) return {value, {}};
  return {graph.node(graph.value(value).producer).inputs[0], transpose->permutation};
}

// The keys with one row each: the second operand of q k^T without its transposition.
std::optional<Operand> keysOf(const Graph& graph, const ops::MatMul& product, ValueId value) {
  auto operand = throughTranspose(graph, value);
  if (product.transposeB) return operand;
  const size_t rank = operand.permutation.size();
  if (rank < 2) return std::nullopt;
  std::swap(operand.permutation[rank - 1], operand.permutation[rank - 2]);
  if (std::is_sorted(operand.permutation.begin(), operand.permutation.end())) operand.permutation.clear();
  return operand;
}

Shape permuted(const Shape& shape, const Permutation& permutation) {
  if (permutation.empty()) return shape;
  Shape result;
  for (const int64_t axis : permutation) result.push_back(shape[static_cast<size_t>(axis)]);
  return result;
}

struct Found {
  Operand q, k, v;
  ops::Attention op;
  ValueId mask = graph::kNone;
  ValueId output = graph::kNone;
  std::vector<NodeId> from;
};

bool onlyLeadsTo(const Graph& graph, const Uses& uses, ValueId value) {
  return onlyUser(graph, uses, value).has_value();
}

std::optional<Found> match(const Graph& graph, NodeId id, const Uses& uses) {
  const auto& node = graph.node(id);
  const auto* outer = node.op.as<ops::MatMul>();
  if (outer == nullptr || !outer->epilogue.empty() || outer->transposeA || outer->transposeB) return std::nullopt;
  const ValueId weights = node.inputs[0];
  const auto* softmax = producerOp<ops::Softmax>(graph, weights);
  const int rank = graph.value(weights).type.rank();
  if (softmax == nullptr || (softmax->axis != -1 && softmax->axis != rank - 1) || !onlyLeadsTo(graph, uses, weights)) return std::nullopt;
  const ValueId scores = graph.node(graph.value(weights).producer).inputs[0];
  const auto found = matchScores(graph, Terms(graph), Terms(graph).of(scores));
  if (!found || !onlyLeadsTo(graph, uses, scores) || !onlyLeadsTo(graph, uses, found->product)) return std::nullopt;
  const auto& product = graph.node(graph.value(found->product).producer);
  const auto keys = keysOf(graph, *product.op.as<ops::MatMul>(), product.inputs[1]);
  if (!keys) return std::nullopt;
  Found result{throughTranspose(graph, product.inputs[0]), *keys, throughTranspose(graph, node.inputs[1]),
               ops::Attention{0, found->scale, found->mask != graph::kNone}, found->mask, node.outputs[0], {}};
  // Leading extents must be equal: attention broadcasts only the mask.
  const Shape q = permuted(graph.value(result.q.value).type.shape, result.q.permutation);
  const Shape k = permuted(graph.value(result.k.value).type.shape, result.k.permutation);
  const Shape v = permuted(graph.value(result.v.value).type.shape, result.v.permutation);
  if (q.size() != k.size() || q.size() != v.size() || !std::equal(q.begin(), q.end() - 2, k.begin()) || !std::equal(q.begin(), q.end() - 2, v.begin())) {
    return std::nullopt;
  }
  if (graph.value(found->product).type.shape != graph.value(scores).type.shape) return std::nullopt;
  if (found->mask != graph::kNone && graph.value(found->mask).type.dtype != graph.value(scores).type.dtype) return std::nullopt;
  std::vector<ValueId> sources{product.inputs[0], product.inputs[1], node.inputs[1]};
  if (found->mask != graph::kNone) sources.push_back(found->mask);
  result.from = Terms::nodesBetween(graph, node.outputs[0], sources);
  const bool marked = std::any_of(result.from.begin(), result.from.end(), [&](NodeId n) {
    const ValueId value = graph.node(n).outputs[0];
    return value != node.outputs[0] && graph.value(value).constraints != graph::Constraints{};
  });
  return marked ? std::nullopt : std::optional(result);
}

const Permutation kHeadsFirst{0, 2, 1, 3};

// [B,S,H,D] -> [B,S,H*D]: what the reshape into heads was made of, or a reshape that undoes it.
ValueId joined(graph::Patch& patch, const Graph& graph, ValueId value, NodeId origin) {
  const Shape shape = graph.value(value).type.shape;
  const Shape flat{shape[0], shape[1], shape[2] * shape[3]};
  const NodeId from[] = {origin};
  return patch.add(ops::Reshape{flat}, graph.value(value).name + "_joined", {value}, from);
}

// With heads in the columns: all of q, k, v come through a transpose of heads to the front, and one back is all that reads the result.
bool byColumns(Graph& graph, Found& found, NodeId id, const Uses& uses) {
  const auto use = onlyUse(graph, uses, found.output);
  const auto* back = use ? graph.node(use->node).op.as<ops::Transpose>() : nullptr;
  if (back == nullptr || back->permutation != kHeadsFirst) return false;
  for (const auto* operand : {&found.q, &found.k, &found.v}) {
    if (operand->permutation != kHeadsFirst) return false;
  }
  const Extent heads = graph.value(found.q.value).type.shape[2];
  if (!heads.isConstant() || heads.constant() < 1) return false;
  found.op.heads = heads.constant();
  found.from.push_back(use->node);
  const ValueId output = graph.node(use->node).outputs[0];
  const Shape shape = graph.value(output).type.shape;
  const auto name = graph.node(id).name;
  graph::Patch patch(graph);
  std::vector<ValueId> inputs;
  for (const auto* operand : {&found.q, &found.k, &found.v}) inputs.push_back(joined(patch, graph, operand->value, id));
  if (found.mask != graph::kNone) inputs.push_back(found.mask);
  const ValueId result = patch.add(found.op, name, std::move(inputs), found.from);
  const NodeId last[] = {use->node};
  const auto lastName = graph.node(use->node).name;
  patch.replace(output, patch.add(ops::Reshape{shape}, lastName, {result}, last));
  patch.commit();
  return true;
}

void byHeads(Graph& graph, const Found& found, NodeId id) {
  const auto name = graph.node(id).name;
  graph::Patch patch(graph);
  std::vector<ValueId> inputs;
  for (const auto* operand : {&found.q, &found.k, &found.v}) {
    const NodeId from[] = {id};
    inputs.push_back(operand->permutation.empty() ? operand->value : patch.add(ops::Transpose{operand->permutation}, graph.value(operand->value).name + "_rows", {operand->value}, from));
  }
  if (found.mask != graph::kNone) inputs.push_back(found.mask);
  patch.replace(found.output, patch.add(found.op, name, std::move(inputs), found.from));
  patch.commit();
}

bool findOne(Graph& graph, NodeId id, const Uses& uses, const Options& options) {
  auto found = match(graph, id, uses);
  if (!found) return false;
  std::vector<ops::TensorType> types;
  for (const auto* operand : {&found->q, &found->k, &found->v}) {
    types.push_back({graph.value(operand->value).type.dtype, permuted(graph.value(operand->value).type.shape, operand->permutation), std::nullopt});
  }
  if (found->mask != graph::kNone) types.push_back(graph.value(found->mask).type);
  if (options.computes && !options.computes(found->op, types)) return false;
  if (!byColumns(graph, *found, id, uses)) byHeads(graph, *found, id);
  return true;
}

}  // namespace

int findAttention(Graph& graph, const Options& options) {
  int edits = 0;
  bool changed = true;
  while (changed) {
    changed = false;
    const auto order = graph.order();
    const auto uses = graph.allUses();
    for (const auto id : order) {
      if (!findOne(graph, id, uses, options)) continue;
      changed = true;
      ++edits;
      break;
    }
  }
  return edits;
}

}  // namespace tenon::passes
