// conv(x, w) with weights that are zero but at every d-th tap  =>  conv{dilation = d}(x, every d-th tap of w).
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/convolution.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

// Whether all elements are zero whose index along the axis is no multiple of the step.
bool isZeroBetween(const TensorView& w, int axis, int64_t step) {
  const int64_t extent = w.dims[axis];
  const int64_t inner = w.dims.count(axis + 1, w.dims.rank);
  for (int64_t row = 0; row < w.dims.count(); row += inner) {
    if (row / inner % extent % step == 0) continue;
    for (int64_t i = row; i < row + inner; ++i) {
      if (w.loadDouble(i) != 0) return false;
    }
  }
  return true;
}

// The widest step that leaves nothing out; 1 where every tap counts.
int64_t stepOf(const TensorView& w, int axis) {
  for (int64_t step = w.dims[axis] - 1; step > 1; --step) {
    if ((w.dims[axis] - 1) % step == 0 && isZeroBetween(w, axis, step)) return step;
  }
  return 1;
}

ConstantPtr everyTap(const ConstantPtr& weights, const std::vector<int64_t>& steps) {
  ops::Slice slice;
  for (int axis = 0; axis < weights->dims().rank; ++axis) {
    const int64_t step = axis < 2 ? 1 : steps[static_cast<size_t>(axis - 2)];
    slice.start.emplace_back(0);
    slice.size.emplace_back((weights->dims()[axis] - 1) / step + 1);
    slice.stride.emplace_back(step);
  }
  return Constant::recipe(std::move(slice), {weights});
}

bool thin(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Convolution>();
  if (op == nullptr) return false;
  const auto weights = graph.value(node.inputs[1]).constant;
  // Recipes would have to be evaluated to be looked at; the networks that write zeros out have them in their files.
  if (weights == nullptr || weights->isRecipe() || !isFloating(weights->dtype()) || weights->count() == 0) return false;
  std::vector<int64_t> steps;
  for (int axis = 2; axis < weights->dims().rank; ++axis) steps.push_back(stepOf(weights->view(), axis));
  if (std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; })) return false;

  ops::Convolution thinned = *op;
  thinned.dilations.resize(steps.size(), 1);
  for (size_t i = 0; i < steps.size(); ++i) thinned.dilations[i] *= steps[i];
  auto inputs = node.inputs;
  const NodeId from[] = {id};
  const auto output = node.outputs[0];
  const auto name = node.name;
  graph::Patch patch(graph);
  inputs[1] = patch.addConstant(everyTap(weights, steps), graph.value(inputs[1]).name + "_thinned");
  patch.replace(output, patch.add(std::move(thinned), name, std::move(inputs), from));
  patch.commit();
  return true;
}

}  // namespace

int pass_detect_dilation(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  return editOnce(graph, [&](NodeId id) { return thin(graph, id); });
}

}  // namespace tenon::passes
