// Slice, as a roll by half of an axis, and Pointwise in one: both references, one after the other.
#include "ops/op/swapped_pointwise.h"

#include "ops/op/pointwise.h"
#include "ops/op/slice.h"

namespace tenon::ops {

Facts SwappedPointwise::facts() const { return {}; }

void SwappedPointwise::infer(InferContext& context) const {
  std::vector<TensorType> inputs;
  for (size_t i = 0; i < context.inputCount(); ++i) inputs.push_back(context.input(i));
  for (auto& input : inputs) input.contents.reset();
  context.check(!inputs.empty(), "no input, expected one or more");
  const int rank = inputs[0].rank();
  context.check(axis >= -rank && axis < rank, "axis = {} of {} axes", axis, rank);
  const Extent& extent = inputs[0].shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  context.check(extent.isConstant() && extent.constant() % 2 == 0, "axis {} of {}, expected a known even extent", axis,
                text(inputs[0].shape));
  const Operator pointwise = Pointwise{expr};
  try {
    const auto out = pointwise.infer("swapped_pointwise", inputs);
    context.check(out[0].shape == inputs[0].shape, "the expression has shape {}, the swapped operand {}",
                  text(out[0].shape), text(inputs[0].shape));
    context.output(out[0].dtype, out[0].shape);
  } catch (const UserError& error) {
    context.fail("{}", error.what());
  }
}

void SwappedPointwise::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  HostTensor swapped(x.dtype, x.dims);
  const TensorView between[] = {swapped.view()};
  const auto at = static_cast<size_t>(axis < 0 ? axis + x.dims.rank : axis);
  Slice roll{{}, {}, {}, SliceMode::kWrap};
  for (int i = 0; i < x.dims.rank; ++i) {
    roll.start.push_back(static_cast<size_t>(i) == at ? x.dims[i] / 2 : 0);
    roll.size.push_back(x.dims[i]);
  }
  roll.evaluate({context.inputs.subspan(0, 1), between, context.symbols});
  std::vector<TensorView> operands{swapped.view()};
  operands.insert(operands.end(), context.inputs.begin() + 1, context.inputs.end());
  Pointwise{expr}.evaluate({operands, context.outputs, context.symbols});
}

OperatorInfo operatorInfo_swapped_pointwise() { return describe<SwappedPointwise>(); }

}  // namespace tenon::ops
