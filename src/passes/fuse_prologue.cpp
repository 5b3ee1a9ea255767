// reduce(p(x, ...)) => pointwise_reduce{p}(x, ...): the values of p are never written.
#include "passes/fuse_prologue.h"

#include "ops/op/pointwise.h"
#include "ops/op/pointwise_reduce.h"
#include "passes/fuse_pointwise.h"
#include "passes/match.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using Uses = std::vector<std::vector<graph::Use>>;

bool fuse(Graph& graph, NodeId id, const Uses& uses, const Options& options) {
  const auto& node = graph.node(id);
  const auto* pointwise = node.op.as<ops::Pointwise>();
  const auto use = pointwise == nullptr ? std::nullopt : onlyUse(graph, uses, node.outputs[0]);
  if (!use || pointwise->expr.empty()) return false;
  const auto& next = graph.node(use->node);
  const auto* reduce = next.op.as<ops::Reduce>();
  const auto& type = graph.value(node.outputs[0]).type;
  if (reduce == nullptr || next.device != node.device || !isFloating(type.dtype) || reduce->axes.empty()) return false;
  const ops::PointwiseReduce op{pointwise->expr, reduce->op, reduce->axes, reduce->keepDims};
  if (!hasRoom(op.expr, node.inputs.size())) return false;
  if (options.computes && !options.computes(op, graph.inputTypes(node.inputs))) return false;
  const NodeId from[] = {id, use->node};
  const auto inputs = node.inputs;
  const auto output = next.outputs[0];
  graph::Patch patch(graph);
  const auto fused = patch.add(op, "", inputs, from);
  auto& added = graph.node(graph.value(fused).producer);
  added.name = fmt::format("{}", fmt::join(added.origins, " + "));
  patch.replace(output, fused);
  patch.commit();
  return true;
}

}  // namespace

int fusePrologue(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id, const Uses& uses) { return fuse(graph, id, uses, options); });
}

}  // namespace tenon::passes
