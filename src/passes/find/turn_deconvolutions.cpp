// deconv(x, w) of stride 1  =>  conv(x, w with its channels swapped within each group and its taps from the last to the
// first), which has more kernels.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

// [C, K/groups, taps...] as [K, C/groups, taps backwards...].
ConstantPtr turned(const ConstantPtr& weights, int64_t groups) {
  const auto& dims = weights->dims();
  Shape apart{groups, dims[0] / groups, dims[1]};
  ops::Transpose swap{{0, 2, 1}};
  Shape together{groups * dims[1], dims[0] / groups};
  ops::Slice backwards;
  for (int axis = 0; axis < dims.rank; ++axis) {
    const bool isTap = axis >= 2;
    if (isTap) {
      apart.emplace_back(dims[axis]);
      swap.permutation.push_back(axis + 1);
      together.emplace_back(dims[axis]);
    }
    backwards.start.emplace_back(isTap ? dims[axis] - 1 : 0);
    backwards.stride.emplace_back(isTap ? -1 : 1);
  }
  backwards.size = together;
  const auto swapped = Constant::recipe(swap, {Constant::recipe(ops::Reshape{apart}, {weights})});
  return Constant::recipe(std::move(backwards), {Constant::recipe(ops::Reshape{together}, {swapped})});
}

// Whether each input channel goes to one element of the window: blocks that become an image again, which are moved and
// not multiplied.
bool onlyMoves(const TensorView& w) {
  const int64_t each = w.count() / w.dims[0];
  for (int64_t channel = 0; channel < w.dims[0]; ++channel) {
    int64_t taps = 0;
    for (int64_t i = 0; i < each && taps < 2; ++i) taps += w.loadDouble(channel * each + i) != 0 ? 1 : 0;
    if (taps > 1) return false;
  }
  return each > 1;
}

// What a window of `taps` reaches beyond its middle, less what was cut; nothing where more was cut.
std::optional<Shape> paddings(const Dims& weights, const std::vector<int64_t>& dilations, const Shape& cut) {
  Shape padding;
  for (int axis = 2; axis < weights.rank; ++axis) {
    const auto i = static_cast<size_t>(axis - 2);
    const int64_t reach = (dilations.empty() ? 1 : dilations[i]) * (weights[axis] - 1);
    if (!cut.empty() && (!cut[i].isConstant() || cut[i].constant() > reach)) return std::nullopt;
    padding.emplace_back(reach - (cut.empty() ? 0 : cut[i].constant()));
  }
  return padding;
}

bool turn(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Deconvolution>();
  if (op == nullptr || std::any_of(op->strides.begin(), op->strides.end(), [](int64_t stride) { return stride != 1; }))
    return false;
  const auto weights = graph.value(node.inputs[1]).constant;
  if (weights == nullptr || !isFloating(weights->dtype()) || weights->count() == 0) return false;
  const auto pre = paddings(weights->dims(), op->dilations, op->prePadding);
  const auto post = paddings(weights->dims(), op->dilations, op->postPadding);
  if (!pre || !post || onlyMoves(weights->view())) return false;
  ops::Convolution convolution{{}, op->dilations, *pre, *post, op->groups, op->hasBias, op->epilogue};
  auto inputs = node.inputs;
  const NodeId from[] = {id};
  const auto output = node.outputs[0];
  const auto name = node.name;
  const int64_t groups = op->groups;
  graph::Patch patch(graph);
  inputs[1] = patch.addConstant(turned(weights, groups), graph.value(inputs[1]).name + "_turned");
  patch.replace(output, patch.add(std::move(convolution), name, std::move(inputs), from));
  patch.commit();
  return true;
}

}  // namespace

int pass_turn_deconvolutions(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  return editOnce(graph, [&](NodeId id) { return turn(graph, id); });
}

}  // namespace tenon::passes
