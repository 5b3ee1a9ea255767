// Padding slices before convolutions become the convolutions own padding.
#include "passes/common/pass.h"

#include "ops/op/convolution.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

bool isZero(const Graph& graph, const graph::Node& slice) {
  if (slice.inputs.size() < 2) return true;
  const auto& fill = graph.value(slice.inputs[1]).constant;
  return fill != nullptr && fill->view().loadDouble(0) == 0;
}

bool foldOne(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* convolution = node.op.as<ops::Convolution>();
  if (convolution == nullptr) return false;
  const NodeId producer = graph.value(node.inputs[0]).producer;
  if (producer == graph::kNone || graph.value(node.inputs[0]).constraints.debug) return false;
  const auto& before = graph.node(producer);
  const auto* slice = before.op.as<ops::Slice>();
  if (slice == nullptr || slice->mode != ops::SliceMode::kFill || !isZero(graph, before)) return false;
  for (const auto& stride : slice->stride) {
    if (!stride.isConstant(1)) return false;
  }
  const Shape& in = graph.value(before.inputs[0]).type.shape;
  const size_t spatial = in.size() - 2;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (!slice->start[axis].isConstant(0) || !(slice->size[axis] == in[axis])) return false;
  }
  ops::Convolution merged = *convolution;
  merged.prePadding.resize(spatial);
  merged.postPadding.resize(spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const Extent pre = Extent(0) - slice->start[i + 2];
    const Extent post = slice->size[i + 2] - in[i + 2] - pre;
    // Only constant, non-negative padding: a crop is no padding, and a symbolic one may be a crop.
    if (!pre.isConstant() || !post.isConstant() || pre.constant() < 0 || post.constant() < 0) return false;
    merged.prePadding[i] = merged.prePadding[i] + pre;
    merged.postPadding[i] = merged.postPadding[i] + post;
  }
  auto inputs = node.inputs;
  inputs[0] = before.inputs[0];
  const NodeId from[] = {producer, id};
  const auto output = node.outputs[0];
  const auto name = node.name;
  graph::Patch patch(graph);
  patch.replace(output, patch.add(std::move(merged), name, std::move(inputs), from));
  patch.commit();
  return true;
}

}  // namespace

int pass_fold_padding(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return foldOne(graph, id); });
}

}  // namespace tenon::passes
