// Concat and Gather in one: both rules and both references, one after the other.
#include "ops/op/concat_gather.h"

#include "ops/op/concat.h"
#include "ops/op/gather.h"

namespace tenon::ops {
namespace {

template <typename T>
std::vector<T> tensorsOf(std::vector<T> inputs) {
  inputs.erase(inputs.begin() + ConcatGather::kIndices);
  return inputs;
}

}  // namespace

Facts ConcatGather::facts() const {
  Facts facts;
  facts.movement = true;
  return facts;
}

void ConcatGather::infer(InferContext& context) const {
  context.check(context.inputCount() > kIndices, "{} inputs, expected a tensor and indices at least",
                context.inputCount());
  const auto& indices = context.input(kIndices);
  context.check(indices.dtype == DataType::kI32 && indices.shape.size() == 1,
                "indices of type {} and shape {}, expected a vector of i32", name(indices.dtype), text(indices.shape));
  std::vector<TensorType> inputs;
  for (size_t i = 0; i < context.inputCount(); ++i) inputs.push_back(context.input(i));
  for (auto& input : inputs) input.contents.reset();
  const std::string_view node = "concat_gather";
  const Operator first = Concat{axis};
  const Operator second = Gather{GatherMode::kDefault, axis, 0};
  try {
    const auto between = first.infer(node, tensorsOf(inputs));
    const TensorType operands[] = {between[0], inputs[kIndices]};
    const auto out = second.infer(node, operands);
    context.output(out[0].dtype, out[0].shape);
  } catch (const UserError& error) {
    context.fail("{}", error.what());
  }
}

void ConcatGather::evaluate(const EvalContext& context) const {
  const auto tensors = tensorsOf(std::vector<TensorView>(context.inputs.begin(), context.inputs.end()));
  Dims dims = tensors[0].dims;
  const auto at = static_cast<int>(axis < 0 ? axis + dims.rank : axis);
  for (size_t i = 1; i < tensors.size(); ++i) dims[at] += tensors[i].dims[at];
  HostTensor joined(tensors[0].dtype, dims);
  const TensorView between[] = {joined.view()};
  Concat{axis}.evaluate({tensors, between, context.symbols});
  const TensorView operands[] = {joined.view(), context.inputs[kIndices]};
  Gather{GatherMode::kDefault, axis, 0}.evaluate({operands, context.outputs, context.symbols});
}

OperatorInfo operatorInfo_concat_gather() { return describe<ConcatGather>(); }

}  // namespace tenon::ops
