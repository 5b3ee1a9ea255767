// Rows times matrices that were picked by an index each => a product with experts, which reads the matrices where they
// lie: a copy of those of a few rows takes longer than all else.
#include "passes/common/pass.h"

#include "graph/number_range.h"
#include "ops/op/expert_matmul.h"
#include "ops/op/gather.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

constexpr int64_t kLeastElements = 1024;  // of a matrix: a copy of smaller ones takes less than lists of their rows

// matmul(rows [..,1,D], gather(matrices [E,D,N], picks [..])).
struct Picked {
  ValueId rows, matrices, picks;
  NodeId gather;
  Shape tokens;    // all of the picks' extents but the last one
  Extent chosen;   // the last one
  Extent sources;  // rows of a token: one, or as many as are chosen
};

std::optional<Picked> pickedOf(const Graph& graph, const Node& node) {
  const auto* product = node.op.as<ops::MatMul>();
  if (product == nullptr || product->transposeA || !product->epilogue.empty()) return std::nullopt;
  const auto* gather = producerOp<ops::Gather>(graph, node.inputs[1]);
  if (gather == nullptr || gather->mode != ops::GatherMode::kDefault || gather->batchDims != 0) return std::nullopt;
  if (!onlyUse(graph, node.inputs[1])) return std::nullopt;
  Picked picked;
  picked.gather = graph.value(node.inputs[1]).producer;
  picked.rows = node.inputs[0];
  picked.matrices = graph.node(picked.gather).inputs[0];
  picked.picks = graph.node(picked.gather).inputs[1];
  const auto& matrices = graph.value(picked.matrices).type;
  const Shape& picks = graph.value(picked.picks).type.shape;
  const Shape& rows = graph.value(picked.rows).type.shape;
  if (matrices.shape.size() != 3 || (gather->axis != 0 && gather->axis != -3) || !isFloating(matrices.dtype))
    return std::nullopt;
  if (!matrices.shape[1].isConstant() || !matrices.shape[2].isConstant()) return std::nullopt;
  if (matrices.shape[1].constant() * matrices.shape[2].constant() < kLeastElements) return std::nullopt;
  if (!matrices.shape[0].isConstant() || (product->transposeB && graph.value(picked.matrices).constant == nullptr))
    return std::nullopt;
  if (picks.empty() || rows.size() != picks.size() + 2 || !rows[picks.size()].isConstant(1)) return std::nullopt;
  const size_t last = picks.size() - 1;
  for (size_t axis = 0; axis < last; ++axis) {
    if (!(rows[axis] == picks[axis])) return std::nullopt;
  }
  const bool isShared = rows[last].isConstant(1);
  if (!isShared && !(rows[last] == picks[last])) return std::nullopt;
  picked.tokens.assign(picks.begin(), picks.begin() + static_cast<std::ptrdiff_t>(last));
  picked.chosen = picks[last];
  picked.sources = isShared ? Extent(1) : picks[last];
  return picked;
}

Extent productOf(const Shape& shape) {
  Extent product = 1;
  for (const auto& extent : shape) product = product * extent;
  return product;
}

bool toExperts(Graph& graph, NodeId id) {
  const auto picked = pickedOf(graph, graph.node(id));
  if (!picked) return false;
  const auto node = graph.node(id);
  const bool isTransposed = node.op.as<ops::MatMul>()->transposeB;
  const auto matrices = graph.value(picked->matrices);
  const Extent depth = graph.value(picked->rows).type.shape.back();
  const Shape results = graph.value(node.outputs[0]).type.shape;
  const Extent tokens = productOf(picked->tokens);
  const auto low = graph::numberRange(graph, picked->picks).low;
  const bool isKnown = low && low->isConstant() && low->constant() >= 0;
  const NodeId from[] = {id, picked->gather};
  graph::Patch patch(graph);
  const auto add = [&](ops::Operator op, const char* part, std::vector<ValueId> inputs) {
    return patch.add(std::move(op), node.name + part, std::move(inputs), from);
  };
  ValueId picks = picked->picks;
  if (!isKnown) {  // a negative index counts from the end
    const auto experts = static_cast<double>(matrices.type.shape[0].constant());
    ScalarExpr wrapped;
    const auto index = ScalarArgument::input(0);
    wrapped.instructions = {{ScalarOp::k_less, {index, ScalarArgument::constant(0)}},
                            {ScalarOp::k_add, {index, ScalarArgument::constant(experts)}},
                            {ScalarOp::k_select, {ScalarArgument::result(0), ScalarArgument::result(1), index}}};
    picks = add(ops::Pointwise{wrapped}, " (from the end)", {picks});
  }
  picks = add(ops::Reshape{{tokens, picked->chosen}}, " (experts)", {picks});
  const ValueId rows = add(ops::Reshape{{tokens, picked->sources, depth}}, " (rows)", {picked->rows});
  ValueId weights = picked->matrices;
  if (isTransposed) {
    const auto turned = graph::Constant::recipe(ops::Transpose{{0, 2, 1}}, {matrices.constant});
    weights = patch.addConstant(turned, matrices.name + " turned");
  }
  const ValueId result = add(ops::ExpertMatMul{}, "", {rows, picks, weights});
  patch.replace(node.outputs[0], add(ops::Reshape{results}, " (results)", {result}));
  patch.commit();
  return true;
}

}  // namespace

int pass_find_experts(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return toExperts(graph, id); });
}

}  // namespace tenon::passes
