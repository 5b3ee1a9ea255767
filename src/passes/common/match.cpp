// Small questions that several passes ask of a graph.
#include "passes/common/match.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/convolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/pooling.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/softmax.h"
#include "ops/op/transpose.h"
#include "ops/scalar_facts.h"

namespace tenon::passes {

namespace {

bool isFree(const graph::Graph& graph, graph::ValueId value) {
  return !graph.isOutput(value) && graph.value(value).constraints == graph::Constraints{};
}

}  // namespace

std::optional<graph::Use> onlyUse(const graph::Graph& graph, graph::ValueId value) {
  const auto& uses = graph.uses(value);
  return uses.size() == 1 && isFree(graph, value) ? std::optional(uses[0]) : std::nullopt;
}

std::optional<graph::Use> onlyUser(const graph::Graph& graph, graph::ValueId value) {
  const auto& uses = graph.uses(value);
  if (uses.empty() || uses.front().node != uses.back().node) return std::nullopt;  // they stand in order of nodes
  return isFree(graph, value) ? std::optional(uses[0]) : std::nullopt;
}

namespace {

bool endsNonNegative(const ops::ScalarExpr& expr) {
  return !expr.empty() && ops::isNonNegative(expr.instructions.back());
}

// A maximum over no cell is the lowest value.
bool everyWindowHasACell(const ops::Pooling& pooling) {
  for (const auto* padding : {&pooling.prePadding, &pooling.postPadding}) {
    for (size_t i = 0; i < padding->size(); ++i) {
      if (!(*padding)[i].isConstant() || (*padding)[i].constant() >= pooling.window[i]) return false;
    }
  }
  return !pooling.ceilMode && !pooling.isDilated();
}

}  // namespace

bool isNonNegative(const graph::Graph& graph, graph::ValueId value, int depth) {
  const graph::NodeId producer = graph.value(value).producer;
  if (depth == 0 || producer == graph::kNone) return false;
  const auto& node = graph.node(producer);
  const auto input = [&] { return isNonNegative(graph, node.inputs[0], depth - 1); };
  if (const auto* op = node.op.as<ops::Pointwise>()) return endsNonNegative(op->expr);
  if (const auto* op = node.op.as<ops::Convolution>()) return endsNonNegative(op->epilogue);
  if (const auto* op = node.op.as<ops::MatMul>()) return endsNonNegative(op->epilogue);
  if (const auto* op = node.op.as<ops::Pooling>()) {
    return (op->type == ops::PoolingType::kAverage ||
            (op->type == ops::PoolingType::kMax && everyWindowHasACell(*op))) &&
           input();
  }
  if (const auto* op = node.op.as<ops::Slice>())
    return (op->mode != ops::SliceMode::kFill || node.inputs.size() == 1) && input();
  if (const auto* op = node.op.as<ops::Softmax>()) return !op->logarithm;
  if (node.op.as<ops::Reshape>() != nullptr || node.op.as<ops::Transpose>() != nullptr) return input();
  if (node.op.as<ops::Concat>() == nullptr) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](graph::ValueId id) { return isNonNegative(graph, id, depth - 1); });
}

bool variesAlong(const Dims& constant, const Shape& shape, int axis) {
  const int rank = static_cast<int>(shape.size());
  if (constant.rank > rank) return false;
  for (int i = 0; i < constant.rank; ++i) {
    const int at = i + rank - constant.rank;
    if (constant[i] == 1) continue;
    if (at != axis || !shape[static_cast<size_t>(at)].isConstant(constant[i])) return false;
  }
  return true;
}

graph::ConstantPtr asVector(const graph::ConstantPtr& constant) {
  return graph::Constant::recipe(ops::Reshape{{Extent(constant->count())}}, {constant});
}

}  // namespace tenon::passes
