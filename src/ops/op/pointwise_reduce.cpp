// Pointwise and Reduce in one: both rules and both references, one after the other.
#include "ops/op/pointwise_reduce.h"

#include <algorithm>

#include "ops/op/pointwise.h"

namespace tenon::ops {

Dims broadcastDims(std::span<const Dims> operands) {
  Dims result;
  for (const auto& dims : operands) result.rank = std::max(result.rank, dims.rank);
  for (int axis = 0; axis < result.rank; ++axis) result[axis] = 1;
  for (const auto& dims : operands) {
    for (int axis = 0; axis < dims.rank; ++axis) {
      auto& extent = result[axis + result.rank - dims.rank];
      extent = dims[axis] == 1 ? extent : dims[axis];
    }
  }
  return result;
}

bool isProductOfInputs(const ScalarExpr& expr) {
  if (expr.instructions.size() != 1 || expr.instructions[0].op != ScalarOp::k_mul) return false;
  const auto& [first, second, third] = expr.instructions[0].arguments;
  return (first == ScalarArgument::input(0) && second == ScalarArgument::input(1)) ||
         (first == ScalarArgument::input(1) && second == ScalarArgument::input(0));
}

Facts PointwiseReduce::facts() const {
  Facts facts;
  facts.reduction = true;
  return facts;
}

void PointwiseReduce::infer(InferContext& context) const {
  std::vector<TensorType> inputs;
  for (size_t i = 0; i < context.inputCount(); ++i) inputs.push_back(context.input(i));
  for (auto& input : inputs) input.contents.reset();
  const std::string_view node = "pointwise_reduce";
  const Operator first = Pointwise{expr};
  const Operator second = Reduce{op, axes, keepDims};
  try {
    const auto between = first.infer(node, inputs);
    const auto out = second.infer(node, between);
    context.output(out[0].dtype, out[0].shape);
  } catch (const UserError& error) {
    context.fail("{}", error.what());
  }
}

void PointwiseReduce::evaluate(const EvalContext& context) const {
  std::vector<Dims> dims;
  std::vector<DataType> types;
  for (const auto& input : context.inputs) {
    dims.push_back(input.dims);
    types.push_back(input.dtype);
  }
  // Between the two nothing is rounded to a narrow type.
  const DataType type = resultType(expr, types);
  HostTensor values(isFloating(type) ? DataType::kF32 : type, broadcastDims(dims));
  const TensorView between[] = {values.view()};
  Pointwise{expr}.evaluate({context.inputs, between, context.symbols});
  Reduce{op, axes, keepDims}.evaluate({between, context.outputs, context.symbols});
}

OperatorInfo operatorInfo_pointwise_reduce() { return describe<PointwiseReduce>(); }

}  // namespace tenon::ops
