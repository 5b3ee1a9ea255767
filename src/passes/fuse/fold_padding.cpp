// Padding slices before convolutions become the convolutions own padding, also through the reshape that gives a line
// the second axis of an image.
#include "passes/common/pass.h"

#include <numeric>

#include "ops/op/convolution.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

bool isZero(const Graph& graph, const graph::Node& slice) {
  if (slice.inputs.size() < 2) return true;
  const auto& fill = graph.value(slice.inputs[1]).constant;
  return fill != nullptr && fill->view().loadDouble(0) == 0;
}

// For each axis of `to` the one of `from` that it is, or -1 where an extent of 1 is put in; empty where it is
// otherwise.
std::vector<int> axesOf(const Shape& from, const Shape& to) {
  std::vector<int> axes;
  size_t next = 0;
  for (const auto& extent : to) {
    const bool isSame = next < from.size() && extent == from[next];
    if (!isSame && !extent.isConstant(1)) return {};
    axes.push_back(isSame ? static_cast<int>(next++) : -1);
  }
  return next == from.size() ? axes : std::vector<int>{};
}

// The node that produces a value nobody watches, or kNone.
NodeId hiddenProducer(const Graph& graph, ValueId value) {
  return graph.value(value).constraints.debug ? graph::kNone : graph.value(value).producer;
}

bool foldOne(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* convolution = node.op.as<ops::Convolution>();
  if (convolution == nullptr) return false;
  NodeId producer = hiddenProducer(graph, node.inputs[0]);
  if (producer == graph::kNone) return false;
  Shape image = graph.value(node.inputs[0]).type.shape;
  std::vector<int> axes(image.size());  // of the slice, which those of the image are
  std::iota(axes.begin(), axes.end(), 0);
  const bool isReshaped = graph.node(producer).op.as<ops::Reshape>() != nullptr;
  if (isReshaped) {
    const ValueId line = graph.node(producer).inputs[0];
    axes = axesOf(graph.value(line).type.shape, image);
    producer = hiddenProducer(graph, line);
    if (axes.empty() || axes[0] != 0 || axes[1] != 1 || producer == graph::kNone) return false;
  }
  const auto& before = graph.node(producer);
  const auto* slice = before.op.as<ops::Slice>();
  if (slice == nullptr || slice->mode != ops::SliceMode::kFill || !isZero(graph, before)) return false;
  for (const auto& stride : slice->stride) {
    if (!stride.isConstant(1)) return false;
  }
  const Shape& in = graph.value(before.inputs[0]).type.shape;
  const size_t spatial = image.size() - 2;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (!slice->start[axis].isConstant(0) || !(slice->size[axis] == in[axis])) return false;
  }
  ops::Convolution merged = *convolution;
  merged.prePadding.resize(spatial);
  merged.postPadding.resize(spatial);
  for (size_t i = 0; i < spatial; ++i) {
    if (axes[i + 2] < 0) continue;
    const auto axis = static_cast<size_t>(axes[i + 2]);
    const Extent pre = Extent(0) - slice->start[axis];
    const Extent post = slice->size[axis] - in[axis] - pre;
    image[i + 2] = in[axis];
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
  if (isReshaped) inputs[0] = patch.add(ops::Reshape{image}, name + " (image)", {inputs[0]}, {});
  patch.replace(output, patch.add(std::move(merged), name, std::move(inputs), from));
  patch.commit();
  return true;
}

}  // namespace

int pass_fold_padding(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return foldOne(graph, id); });
}

}  // namespace tenon::passes
