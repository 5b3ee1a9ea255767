// Types, bias and epilogue of contractions.
#include "ops/contraction.h"

#include "ops/scalar_program.h"
#include "ops/strides.h"

namespace tenon::ops {

DataType accumulatorType(DataType operand) noexcept {
  if (!isFloating(operand)) return DataType::kI32;
  return bits(operand) >= 16 ? operand : DataType::kF32;
}

DataType inferAccumulator(const InferContext& context) {
  const DataType a = context.input(0).dtype;
  const DataType b = context.input(1).dtype;
  context.check(a == b, "operand types {} and {} differ; cast one of them", name(a), name(b));
  context.check(isFloating(a) || (isInteger(a) && bits(a) <= 8),
                "operands of type {}, expected a floating type or an integer of 8 bits", name(a));
  return accumulatorType(a);
}

void inferEpilogue(InferContext& context, const ScalarExpr& epilogue, size_t firstExtra, DataType accumulator,
                   Shape shape) {
  std::vector<DataType> types{accumulator};
  for (size_t i = firstExtra; i < context.inputCount(); ++i) {
    const auto& extra = context.input(i);
    types.push_back(extra.dtype);
    context.check(extra.shape.size() <= shape.size(), "epilogue input {} has shape {}, it does not broadcast to {}", i,
                  text(extra.shape), text(shape));
    const size_t offset = shape.size() - extra.shape.size();
    for (size_t axis = 0; axis < extra.shape.size(); ++axis) {
      if (!extra.shape[axis].isConstant(1)) context.merge(extra.shape[axis], shape[offset + axis], "epilogue input");
    }
  }
  context.check(epilogue.inputCount() <= static_cast<int>(types.size()), "epilogue {} needs {} extra inputs, got {}",
                ops::text(epilogue), epilogue.inputCount() - 1, types.size() - 1);
  DataType type = accumulator;
  try {
    type = resultType(epilogue, types);
  } catch (const UserError& error) {
    context.fail("epilogue: {}", error.what());
  }
  context.output(type, std::move(shape));
}

void storeEpilogue(const EvalContext& context, const ScalarExpr& epilogue, size_t firstExtra,
                   const std::vector<double>& values) {
  const auto& out = context.outputs[0];
  const DataType accumulator = accumulatorType(context.inputs[0].dtype);
  std::vector<DataType> types{accumulator};
  std::vector<Strides> strides{{}};
  for (size_t i = firstExtra; i < context.inputs.size(); ++i) {
    types.push_back(context.inputs[i].dtype);
    strides.push_back(broadcastStrides(context.inputs[i].dims, out.dims));
  }
  ScalarProgram program(epilogue, types);
  std::vector<Number> numbers(types.size());
  int64_t position = 0;
  for (IndexIterator i(out.dims); i.valid(); i.next(), ++position) {
    const double value = values[static_cast<size_t>(position)];
    numbers[0] = isFloating(accumulator) ? Number::ofReal(value, accumulator)
                                         : Number::ofInteger(static_cast<int64_t>(value), accumulator);
    for (size_t k = 1; k < numbers.size(); ++k) {
      numbers[k] = Number::load(context.inputs[firstExtra + k - 1], i.dot(strides[k]));
    }
    program(numbers).store(out, position);
  }
}

void checkBias(const InferContext& context, size_t input, const Extent& channels) {
  const auto& bias = context.input(input);
  context.check(bias.rank() == 1, "bias has shape {}, expected [{}]", text(bias.shape), channels.text());
  context.merge(bias.shape[0], channels, "bias and output channels");
}

void checkGroups(const InferContext& context, int64_t groups, const Extent& channels, std::string_view role) {
  context.check(groups > 0, "groups = {}, expected at least 1", groups);
  context.check(!channels.isConstant() || channels.constant() % groups == 0, "{} {} is not a multiple of groups = {}",
                role, channels.text(), groups);
}

}  // namespace tenon::ops
