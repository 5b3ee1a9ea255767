// Runs scalar expressions in double and int64.
#include "ops/scalar_program.h"

namespace tenon::ops {
namespace {

// Whether an instruction computes in double: decided by its operands that are no literals; the condition of a select
// does not count. With literals only, the type rule says f32.
bool computesInDouble(const ScalarInstruction& instruction, std::span<const DataType> inputs,
                      const std::vector<DataType>& results) {
  const auto& r = row(instruction.op);
  for (int i = r.result == ScalarResult::kOperand1 ? 1 : 0; i < r.arity; ++i) {
    const auto& argument = instruction.arguments[static_cast<size_t>(i)];
    const auto index = static_cast<size_t>(argument.index);
    if (argument.kind == ScalarArgument::Kind::kInput) return isFloating(inputs[index]);
    if (argument.kind == ScalarArgument::Kind::kResult) return isFloating(results[index]);
  }
  return true;
}

}  // namespace

int64_t saturatedInteger(double value) {
  int64_t result = 0;
  storeDouble(DataType::kI64, &result, 0, value);
  return result;
}

int64_t wrapped(int64_t value, DataType type) {
  switch (type) {
    case DataType::kI32: return static_cast<int32_t>(value);
    case DataType::kI8: return static_cast<int8_t>(value);
    case DataType::kU8: return static_cast<uint8_t>(value);
    case DataType::kI4: return static_cast<int8_t>(static_cast<uint8_t>(value) << 4) >> 4;
    default: return value;
  }
}

Number Number::load(const TensorView& tensor, int64_t index) {
  return isFloating(tensor.dtype) ? ofReal(tensor.loadDouble(index), tensor.dtype)
                                  : ofInteger(tensor.loadInt(index), tensor.dtype);
}

void Number::store(const TensorView& tensor, int64_t index) const {
  if (floating()) {
    tensor.storeDouble(index, real);
  } else {
    tensor.storeInt(index, integer);
  }
}

Number castNumber(const Number& value, DataType type) {
  alignas(8) unsigned char storage[8] = {};
  const TensorView cell{storage, type, Dims{}};
  value.store(cell, 0);
  return Number::load(cell, 0);
}

ScalarProgram::ScalarProgram(const ScalarExpr& expr, std::span<const DataType> inputs)
    : results_(expr.instructions.size()), result_(resultType(expr, inputs)) {
  const auto types = instructionTypes(expr, inputs);
  for (size_t i = 0; i < types.size(); ++i) {
    const auto& instruction = expr.instructions[i];
    steps_.push_back({instruction, types[i], computesInDouble(instruction, inputs, types), row(instruction.op).arity});
  }
}

Number ScalarProgram::operand(const ScalarArgument& argument, const Step& step, std::span<const Number> inputs) const {
  switch (argument.kind) {
    case ScalarArgument::Kind::kInput: return inputs[static_cast<size_t>(argument.index)];
    case ScalarArgument::Kind::kResult: return results_[static_cast<size_t>(argument.index)];
    default: break;
  }
  return step.floating ? Number::ofReal(argument.literal, DataType::kF32)
                       : Number::ofInteger(saturatedInteger(argument.literal), DataType::kI64);
}

Number ScalarProgram::operator()(std::span<const Number> inputs) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto& step = steps_[i];
    std::array<Number, 3> v;
    for (size_t k = 0; k < static_cast<size_t>(step.arity); ++k)
      v[k] = operand(step.instruction.arguments[k], step, inputs);
    auto& result = results_[i];
    if (step.instruction.op == ScalarOp::k_cast) {
      result = castNumber(v[0], step.type);
    } else if (step.floating) {
      const double value = evaluateScalar(step.instruction.op, v[0].asReal(), v[1].asReal(), v[2].asReal());
      result = isFloating(step.type) ? Number::ofReal(value, step.type) : Number::ofInteger(value != 0, step.type);
    } else {
      const int64_t value = evaluateScalar(step.instruction.op, v[0].integer, v[1].integer, v[2].integer);
      result = Number::ofInteger(wrapped(value, step.type), step.type);
    }
  }
  return steps_.empty() ? inputs[0] : results_.back();
}

}  // namespace tenon::ops
