// Concat and Pointwise in one: both rules and both references, one after the other.
#include "ops/op/concat_pointwise.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/pointwise.h"

namespace tenon::ops {

Facts ConcatPointwise::facts() const { return {}; }

void ConcatPointwise::infer(InferContext& context) const {
  context.check(parts >= 1 && parts <= static_cast<int64_t>(context.inputCount()),
                "parts = {}, expected 1 to the {} inputs", parts, context.inputCount());
  std::vector<TensorType> inputs;
  for (size_t i = 0; i < context.inputCount(); ++i) inputs.push_back(context.input(i));
  for (auto& input : inputs) input.contents.reset();
  const std::string_view node = "concat_pointwise";
  const Operator first = Concat{axis};
  const Operator second = Pointwise{expr};
  const auto rest = inputs.begin() + static_cast<std::ptrdiff_t>(parts);
  try {
    auto between = first.infer(node, std::span(inputs.begin(), rest));
    const Shape shape = between[0].shape;
    between.insert(between.end(), rest, inputs.end());
    const auto out = second.infer(node, between);
    context.check(out[0].shape == shape, "the expression has shape {}, its concatenation {}", text(out[0].shape),
                  text(shape));
    context.output(out[0].dtype, out[0].shape);
  } catch (const UserError& error) {
    context.fail("{}", error.what());
  }
}

void ConcatPointwise::evaluate(const EvalContext& context) const {
  const auto& out = context.outputs[0];
  HostTensor joined(context.inputs[0].dtype, out.dims);
  const auto count = static_cast<size_t>(parts);
  const TensorView between[] = {joined.view()};
  Concat{axis}.evaluate({context.inputs.subspan(0, count), between, context.symbols});
  std::vector<TensorView> operands{joined.view()};
  operands.insert(operands.end(), context.inputs.begin() + static_cast<std::ptrdiff_t>(count), context.inputs.end());
  Pointwise{expr}.evaluate({operands, context.outputs, context.symbols});
}

OperatorInfo operatorInfo_concat_pointwise() { return describe<ConcatPointwise>(); }

}  // namespace tenon::ops
