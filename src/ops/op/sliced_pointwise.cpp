// Slice and Pointwise in one: both rules and both references, one after the other.
#include "ops/op/sliced_pointwise.h"

#include "ops/op/multi_pointwise.h"
#include "ops/op/pointwise.h"
#include "ops/op/slice.h"

namespace tenon::ops {
namespace {

Operator ofSlices(const SlicedPointwise& op) {
  return op.results.empty() ? Operator(Pointwise{op.expr}) : Operator(MultiPointwise{op.expr, op.results});
}

}  // namespace

Facts SlicedPointwise::facts() const { return {}; }

void SlicedPointwise::infer(InferContext& context) const {
  context.check(starts.size() == context.inputCount(), "{} starts for {} inputs", starts.size(), context.inputCount());
  std::vector<TensorType> inputs;
  std::vector<Shape> slices;
  for (size_t i = 0; i < context.inputCount(); ++i) {
    TensorType type = context.input(i);
    type.contents.reset();
    if (starts[i] >= 0) {
      const int rank = type.rank();
      context.check(axis >= -rank && axis < rank, "axis = {} of {} axes of input {}", axis, rank, i);
      Extent& extent = type.shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
      const bool fits = !extent.isConstant() || !size.isConstant() ||
                        (size.constant() >= 0 && starts[i] + size.constant() <= extent.constant());
      context.check(fits, "elements {} to {} of axis {} of input {}, which has {}", starts[i],
                    (size + Extent(starts[i])).text(), axis, i, extent.text());
      extent = size;
      slices.push_back(type.shape);
    }
    inputs.push_back(std::move(type));
  }
  try {
    const auto out = ofSlices(*this).infer("sliced_pointwise", inputs);
    for (const auto& slice : slices) {
      context.check(slice == out[0].shape, "the expression has shape {}, a slice {}", text(out[0].shape), text(slice));
    }
    for (const auto& each : out) context.output(each.dtype, each.shape);
  } catch (const UserError& error) {
    context.fail("{}", error.what());
  }
}

void SlicedPointwise::evaluate(const EvalContext& context) const {
  const auto& out = context.outputs[0];
  const auto at = static_cast<int>(axis < 0 ? axis + out.dims.rank : axis);
  std::vector<HostTensor> slices;
  slices.reserve(context.inputs.size());
  std::vector<TensorView> operands;
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    operands.push_back(context.inputs[i]);
    if (starts[i] < 0) continue;
    Slice slice;
    for (int k = 0; k < out.dims.rank; ++k) {
      slice.start.push_back(k == at ? starts[i] : 0);
      slice.size.push_back(out.dims[k]);
    }
    operands.back() = slices.emplace_back(context.inputs[i].dtype, out.dims).view();
    slice.evaluate({context.inputs.subspan(i, 1), std::span(&operands.back(), 1), context.symbols});
  }
  ofSlices(*this).evaluate({operands, context.outputs, context.symbols});
}

OperatorInfo operatorInfo_sliced_pointwise() { return describe<SlicedPointwise>(); }

}  // namespace tenon::ops
