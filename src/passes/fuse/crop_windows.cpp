// slice(conv(x)) that leaves out what zeros around x gave => conv{less padding}(x): causal convolutions as frameworks
// write them, padded on both sides and cut behind.
#include "passes/common/pass.h"

#include "ops/op/convolution.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

bool crop(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  const auto* slice = node.op.as<ops::Slice>();
  if (slice == nullptr || slice->mode != ops::SliceMode::kStrict || node.inputs.size() != 1) return false;
  const auto* op = producerOp<ops::Convolution>(graph, node.inputs[0]);
  if (op == nullptr || !op->epilogue.empty() || !onlyUse(graph, node.inputs[0])) return false;
  const Shape& whole = graph.value(node.inputs[0]).type.shape;
  ops::Convolution cropped = *op;
  cropped.prePadding.resize(whole.size() - 2, Extent(0));
  cropped.postPadding.resize(whole.size() - 2, Extent(0));
  for (size_t axis = 0; axis < whole.size(); ++axis) {
    if (!slice->stride.empty() && !slice->stride[axis].isConstant(1)) return false;
    if (slice->start[axis].isConstant(0) && slice->size[axis] == whole[axis]) continue;
    if (axis < 2) return false;
    const int64_t step = op->strides.empty() ? 1 : op->strides[axis - 2];
    const Extent before = slice->start[axis] * Extent(step);
    const Extent behind = (whole[axis] - slice->start[axis] - slice->size[axis]) * Extent(step);
    auto& pre = cropped.prePadding[axis - 2];
    auto& post = cropped.postPadding[axis - 2];
    pre = pre - before;
    post = post - behind;
    // Only what is padding is left out, so that the window's walk over x stays as it is.
    if (!pre.isConstant() || !post.isConstant() || pre.constant() < 0 || post.constant() < 0) return false;
  }
  const NodeId convolution = graph.value(node.inputs[0]).producer;
  const auto inputs = graph.node(convolution).inputs;
  const auto name = graph.node(convolution).name;
  const NodeId from[] = {convolution, id};
  graph::Patch patch(graph);
  patch.replace(node.outputs[0], patch.add(std::move(cropped), name, inputs, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_crop_windows(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return crop(graph, id); });
}

}  // namespace tenon::passes
