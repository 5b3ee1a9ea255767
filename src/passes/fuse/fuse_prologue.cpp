// reduce(p(x, ...)) => pointwise_reduce{p}(x, ...): the values of p are never written.
#include "passes/common/pass.h"

#include "ops/op/pointwise.h"
#include "ops/op/pointwise_reduce.h"
#include "passes/common/fuse.h"

namespace tenon::passes {
namespace {

bool fuse(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* pointwise = node.op.as<ops::Pointwise>();
  const auto use = pointwise == nullptr ? std::nullopt : onlyUse(graph, node.outputs[0]);
  if (!use || pointwise->expr.empty()) return false;
  const auto& next = graph.node(use->node);
  const auto* reduce = next.op.as<ops::Reduce>();
  const auto& type = graph.value(node.outputs[0]).type;
  if (reduce == nullptr || next.device != node.device || reduce->axes.empty()) return false;
  // Of integers the products of two tensors alone: matrices that no layer multiplies.
  const bool isProduct = ops::isProductOfInputs(pointwise->expr) && reduce->op == ops::ReduceOp::kSum;
  if (!isFloating(type.dtype) && !isProduct) return false;
  const ops::PointwiseReduce op{pointwise->expr, reduce->op, reduce->axes, reduce->keepDims};
  if (!hasRoom(op.expr, node.inputs.size())) return false;
  const NodeId from[] = {id, use->node};
  return replaceByFused(graph, op, node.inputs, from, use->node, options);
}

}  // namespace

int pass_fuse_prologue(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return fuse(graph, id, options); });
}

}  // namespace tenon::passes
