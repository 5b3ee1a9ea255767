// p(concat(x, y, ...), c) => concat_pointwise{p}(x, y, ..., c): the concatenation is neither written nor read.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/concat_pointwise.h"
#include "ops/op/pointwise.h"
#include "passes/common/fuse.h"

namespace tenon::passes {
namespace {

bool fuse(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* concat = node.op.as<ops::Concat>();
  const ValueId whole = node.outputs[0];
  const auto use = concat == nullptr ? std::nullopt : onlyUser(graph, whole);
  if (!use) return false;
  const auto& next = graph.node(use->node);
  const auto* pointwise = next.op.as<ops::Pointwise>();
  const auto& type = graph.value(whole).type;
  const auto& out = graph.value(next.outputs[0]).type;
  if (pointwise == nullptr || pointwise->expr.empty() || next.device != node.device) return false;
  if (!isFloating(type.dtype) || !(out.shape == type.shape) || out.dtype != type.dtype) return false;
  const int axis = static_cast<int>(concat->axis < 0 ? concat->axis + type.rank() : concat->axis);
  auto inputs = node.inputs;
  std::vector<int> places;
  for (const ValueId input : next.inputs) {
    const auto& constant = graph.value(input).constant;
    if (input != whole &&
        (constant == nullptr || constant->dtype() != type.dtype || !variesAlong(constant->dims(), type.shape, axis)))
      return false;
    places.push_back(input == whole ? 0 : static_cast<int>(inputs.size() - node.inputs.size()) + 1);
    if (input != whole) inputs.push_back(input);
  }
  const ops::ConcatPointwise op{axis, static_cast<int64_t>(node.inputs.size()), pointwise->expr.withInputs(places)};
  if (!hasRoom(op.expr, next.inputs.size())) return false;
  const NodeId from[] = {id, use->node};
  return replaceByFused(graph, op, std::move(inputs), from, use->node, options);
}

}  // namespace

int pass_fuse_concat(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return fuse(graph, id, options); });
}

}  // namespace tenon::passes
