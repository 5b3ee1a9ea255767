// sum(sum(x, a), b) => sum(x, a + b), and so for product, extremes and means; pooling over all of an image => mean.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/pooling.h"
#include "ops/op/reduce.h"

namespace tenon::passes {
namespace {

void replace(Graph& graph, NodeId id, ops::Operator op, graph::ValueId input, std::span<const NodeId> from) {
  const auto output = graph.node(id).outputs[0];
  const auto name = graph.node(id).name;
  graph::Patch patch(graph);
  patch.replace(output, patch.add(std::move(op), name, {input}, from));
  patch.commit();
}

std::vector<bool> reducedAxes(const ops::Reduce& reduce, size_t rank) {
  std::vector<bool> result(rank, false);
  for (const int64_t axis : reduce.axes)
    result[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  return result;
}

// Floating types only: integers saturate after each step.
bool reductionOfReduction(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* outer = node.op.as<ops::Reduce>();
  const auto* inner = outer == nullptr ? nullptr : producerOp<ops::Reduce>(graph, node.inputs[0]);
  if (inner == nullptr || inner->op != outer->op || inner->keepDims != outer->keepDims) return false;
  const auto& between = graph.value(node.inputs[0]);
  if (between.constraints != graph::Constraints{} || !isFloating(between.type.dtype)) return false;
  const NodeId from[] = {between.producer, id};
  const auto source = graph.node(from[0]).inputs[0];
  const size_t rank = graph.value(source).type.shape.size();
  const auto first = reducedAxes(*inner, rank);
  const auto second = reducedAxes(*outer, between.type.shape.size());
  ops::Reduce merged = *outer;
  merged.axes.clear();
  size_t at = 0;  // axis of the tensor between
  for (size_t axis = 0; axis < rank; ++axis) {
    const bool kept = inner->keepDims || !first[axis];
    if (first[axis] || (kept && second[at])) merged.axes.push_back(static_cast<int64_t>(axis));
    at += kept ? 1 : 0;
  }
  replace(graph, id, merged, source, from);
  return true;
}

bool isNoPadding(const Shape& padding) {
  return std::all_of(padding.begin(), padding.end(), [](const Extent& e) { return e.isConstant(0); });
}

bool poolingOfAll(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* pooling = node.op.as<ops::Pooling>();
  if (pooling == nullptr || pooling->type == ops::PoolingType::kMaxAverageBlend) return false;
  if (!isNoPadding(pooling->prePadding) || !isNoPadding(pooling->postPadding)) return false;
  const Shape& in = graph.value(node.inputs[0]).type.shape;
  const Shape& out = graph.value(node.outputs[0]).type.shape;
  ops::Reduce reduce{pooling->type == ops::PoolingType::kMax ? ops::ReduceOp::kMax : ops::ReduceOp::kAvg, {}, true};
  for (size_t i = 0; i < pooling->window.size(); ++i) {
    if (!in[i + 2].isConstant(pooling->window[i]) || !out[i + 2].isConstant(1)) return false;
    reduce.axes.push_back(static_cast<int64_t>(i) + 2);
  }
  if (!isFloating(graph.value(node.inputs[0]).type.dtype)) return false;
  const NodeId from[] = {id};
  replace(graph, id, reduce, node.inputs[0], from);
  return true;
}

}  // namespace

int pass_merge_reductions(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return reductionOfReduction(graph, id) || poolingOfAll(graph, id); });
}

}  // namespace tenon::passes
