// p(slice{wrap}(x), y, ...) => swapped_pointwise{p}(x, y, ...) where the slice exchanges the halves of an axis: the
// swapped tensor is neither written nor read.
#include "passes/common/pass.h"

#include "ops/op/pointwise.h"
#include "ops/op/slice.h"
#include "ops/op/swapped_pointwise.h"
#include "passes/common/fuse.h"

namespace tenon::passes {
namespace {

// The axis whose halves change places, or nothing.
std::optional<size_t> swappedAxis(const ops::Slice& slice, const Shape& shape) {
  if (slice.mode != ops::SliceMode::kWrap || !(slice.size == shape)) return std::nullopt;
  std::optional<size_t> result;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!slice.stride.empty() && !slice.stride[axis].isConstant(1)) return std::nullopt;
    if (slice.start[axis].isConstant(0)) continue;
    if (result || !shape[axis].isConstant() || !(slice.start[axis] * 2 == shape[axis])) return std::nullopt;
    result = axis;
  }
  return result;
}

bool fuse(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* slice = node.op.as<ops::Slice>();
  const ValueId swapped = node.outputs[0];
  const auto use = slice == nullptr || node.inputs.size() != 1 ? std::nullopt : onlyUser(graph, swapped);
  if (!use) return false;
  const auto& next = graph.node(use->node);
  const auto* pointwise = next.op.as<ops::Pointwise>();
  if (pointwise == nullptr || pointwise->expr.empty() || next.device != node.device) return false;
  const auto& type = graph.value(swapped).type;
  const auto axis = swappedAxis(*slice, graph.value(node.inputs[0]).type.shape);
  if (!axis || !(graph.value(next.outputs[0]).type.shape == type.shape)) return false;
  auto inputs = node.inputs;
  std::vector<int> places;
  for (const ValueId input : next.inputs) {
    places.push_back(input == swapped ? 0 : static_cast<int>(inputs.size()));
    if (input != swapped) inputs.push_back(input);
  }
  const ops::SwappedPointwise op{static_cast<int64_t>(*axis), pointwise->expr.withInputs(places)};
  const NodeId from[] = {id, use->node};
  return replaceByFused(graph, op, std::move(inputs), from, use->node, options);
}

}  // namespace

int pass_fuse_swap(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return fuse(graph, id, options); });
}

}  // namespace tenon::passes
