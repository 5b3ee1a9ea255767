// p(slice(x), slice(y), z, ...) => sliced_pointwise{p}(x, y, z, ...): slices along one axis that only scalar work reads
// are neither written nor read. Halves of a gated unit, for instance, whose one half is a factor of the other, or the
// gates of a recurrent cell of pictures, whose scalar work has two results.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/multi_pointwise.h"
#include "ops/op/pointwise.h"
#include "ops/op/slice.h"
#include "ops/op/sliced_pointwise.h"
#include "passes/common/fuse.h"

namespace tenon::passes {
namespace {

struct Cut {
  size_t axis = 0;
  int64_t start = 0;
};

// The one axis of which a slice leaves something out, where that begins at a known place.
std::optional<Cut> cutOf(const Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* slice = node.op.as<ops::Slice>();
  if (slice == nullptr || slice->mode != ops::SliceMode::kStrict || node.inputs.size() != 1) return std::nullopt;
  const Shape& whole = graph.value(node.inputs[0]).type.shape;
  std::optional<Cut> cut;
  for (size_t axis = 0; axis < whole.size(); ++axis) {
    if (!slice->stride.empty() && !slice->stride[axis].isConstant(1)) return std::nullopt;
    if (slice->start[axis].isConstant(0) && slice->size[axis] == whole[axis]) continue;
    if (cut || !slice->start[axis].isConstant()) return std::nullopt;
    cut = {axis, slice->start[axis].constant()};
  }
  return cut && cut->start >= 0 ? cut : std::nullopt;
}

bool isScalarWork(const graph::Node& node) {
  return node.op.as<ops::Pointwise>() != nullptr || node.op.as<ops::MultiPointwise>() != nullptr;
}

// Whether nobody needs the slice as a tensor.
bool isReadByScalarWork(const Graph& graph, ValueId id) {
  const auto& value = graph.value(id);
  if (graph.isOutput(id) || value.constraints != graph::Constraints{}) return false;
  const auto& uses = graph.uses(id);
  return std::all_of(uses.begin(), uses.end(), [&](const graph::Use& use) {
    const auto& reader = graph.node(use.node);
    return isScalarWork(reader) && graph.value(reader.outputs[0]).type.shape == value.type.shape;
  });
}

bool fuse(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  if (!isScalarWork(node)) return false;
  const auto* several = node.op.as<ops::MultiPointwise>();
  const ops::ScalarExpr& expr = several != nullptr ? several->expr : node.op.as<ops::Pointwise>()->expr;
  if (expr.empty()) return false;
  std::optional<size_t> axis;
  auto inputs = node.inputs;
  std::vector<int64_t> starts(inputs.size(), -1);
  std::vector<NodeId> from;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const NodeId producer = graph.value(inputs[i]).producer;
    if (producer == graph::kNone || graph.node(producer).device != node.device) continue;
    const auto cut = cutOf(graph, producer);
    if (!cut || (axis && *axis != cut->axis) || !isReadByScalarWork(graph, inputs[i])) continue;
    axis = cut->axis;
    starts[i] = cut->start;
    inputs[i] = graph.node(producer).inputs[0];
    if (std::count(from.begin(), from.end(), producer) == 0) from.push_back(producer);
  }
  if (!axis) return false;
  from.push_back(id);
  const Extent size = graph.value(node.outputs[0]).type.shape[*axis];
  const ops::SlicedPointwise op{static_cast<int64_t>(*axis), size, std::move(starts), expr,
                                several != nullptr ? several->results : std::vector<int64_t>{}};
  return replaceByFused(graph, op, std::move(inputs), from, id, options);
}

}  // namespace

int pass_fuse_slices(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return fuse(graph, id, options); });
}

}  // namespace tenon::passes
