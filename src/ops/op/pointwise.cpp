// Pointwise: type and shape rule, symbolic contents of shape arithmetic, reference in double or int64.
#include "ops/op/pointwise.h"

#include "ops/infer_util.h"
#include "ops/scalar_blocks.h"
#include "ops/scalar_program.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

// A cast keeps the value of an extent in the wide types; narrow ones saturate, which only constants can follow.
std::optional<Extent> castSymbolic(const Extent& value, DataType type) {
  if (value.isConstant()) return castNumber(Number::ofInteger(value.constant(), DataType::kI64), type).integer;
  if (type == DataType::kBool) return Extent(1) - equal(value, 0);
  if (type == DataType::kI64 || type == DataType::kI32) return value;
  return std::nullopt;
}

std::optional<Extent> applySymbolic(ScalarOp op, const std::array<Extent, 3>& v) {
  switch (op) {
    case ScalarOp::k_identity:
    case ScalarOp::k_ceil:
    case ScalarOp::k_floor:
    case ScalarOp::k_round:
      return v[0];
    case ScalarOp::k_relu:
      return max(v[0], 0);
    case ScalarOp::k_add:
      return v[0] + v[1];
    case ScalarOp::k_sub:
      return v[0] - v[1];
    case ScalarOp::k_mul:
      return v[0] * v[1];
    case ScalarOp::k_neg:
      return Extent(0) - v[0];
    case ScalarOp::k_min:
      return min(v[0], v[1]);
    case ScalarOp::k_max:
      return max(v[0], v[1]);
    case ScalarOp::k_equal:
      return equal(v[0], v[1]);
    case ScalarOp::k_less:
      return less(v[0], v[1]);
    case ScalarOp::k_greater:
      return less(v[1], v[0]);
    case ScalarOp::k_not:
      return equal(v[0], 0);
    case ScalarOp::k_floor_div:
    case ScalarOp::k_div:  // truncation and floor agree for extents, which are never negative
      if (!v[1].isConstant() || v[1].constant() <= 0) return std::nullopt;
      if (op == ScalarOp::k_div && v[0].isConstant() && v[0].constant() < 0) return v[0].constant() / v[1].constant();
      return floorDiv(v[0], v[1]);
    case ScalarOp::k_mod:
    case ScalarOp::k_fmod:  // as above
      if (!v[1].isConstant() || v[1].constant() <= 0 || v[0].isConstant()) break;
      return v[0] - floorDiv(v[0], v[1]) * v[1];
    case ScalarOp::k_select:
      if (v[0].isConstant()) return v[0].constant() != 0 ? v[1] : v[2];
      return v[1] == v[2] ? std::optional(v[1]) : std::optional(v[0] * v[1] + (Extent(1) - v[0]) * v[2]);
    default:
      break;
  }
  if (!v[0].isConstant() || !v[1].isConstant() || !v[2].isConstant()) return std::nullopt;
  return evaluateScalar(op, v[0].constant(), v[1].constant(), v[2].constant());
}

// The expression over symbolic inputs; nothing when a step cannot be followed or leaves the integers.
std::optional<Extent> evaluateSymbolic(const ScalarExpr& expr, const std::vector<Extent>& inputs,
                                       const std::vector<DataType>& types) {
  if (expr.empty()) return inputs[0];
  std::vector<Extent> results;
  for (size_t i = 0; i < expr.instructions.size(); ++i) {
    const auto& instruction = expr.instructions[i];
    if (isFloating(types[i])) return std::nullopt;
    std::array<Extent, 3> values;
    for (int k = 0; k < row(instruction.op).arity; ++k) {
      const auto& argument = instruction.arguments[static_cast<size_t>(k)];
      const auto index = static_cast<size_t>(argument.index);
      switch (argument.kind) {
        case ScalarArgument::Kind::kInput:
          values[static_cast<size_t>(k)] = inputs[index];
          break;
        case ScalarArgument::Kind::kResult:
          values[static_cast<size_t>(k)] = results[index];
          break;
        case ScalarArgument::Kind::kLiteral:
          values[static_cast<size_t>(k)] = saturatedInteger(argument.literal);
          break;
      }
    }
    const bool cast = instruction.op == ScalarOp::k_cast;
    const auto value = cast ? castSymbolic(values[0], types[i]) : applySymbolic(instruction.op, values);
    if (!value) return std::nullopt;
    const bool narrow = types[i] != DataType::kBool && bits(types[i]) < 32;
    if (!value->isConstant() && narrow) return std::nullopt;  // might wrap
    results.push_back(value->isConstant() ? Extent(wrapped(value->constant(), types[i])) : *value);
  }
  return results.back();
}

std::optional<std::vector<Extent>> inferContents(const ScalarExpr& expr, const InferContext& context,
                                                 const Shape& shape, const std::vector<DataType>& types) {
  if (!followsContents(shape)) return std::nullopt;
  const int64_t count = shape.empty() ? 1 : shape[0].constant();
  for (size_t i = 0; i < context.inputCount(); ++i) {
    if (!context.input(i).contents) return std::nullopt;
  }
  std::vector<Extent> result;
  for (int64_t k = 0; k < count; ++k) {
    std::vector<Extent> inputs;
    for (size_t i = 0; i < context.inputCount(); ++i) {
      const auto& contents = *context.input(i).contents;
      inputs.push_back(contents.at(contents.size() == 1 ? 0 : static_cast<size_t>(k)));
    }
    const auto value = evaluateSymbolic(expr, inputs, types);
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

}  // namespace

Facts Pointwise::facts() const {
  Facts facts;
  facts.pointwise = true;
  for (int i = 0; i < expr.inputCount(); ++i) facts.aliases.push_back({0, i, false});
  return facts;
}

void Pointwise::infer(InferContext& context) const {
  auto [shape, types] = scalarOperands(context, expr);
  DataType type = DataType::kF32;
  try {
    type = resultType(expr, types);
  } catch (const UserError& error) {
    context.fail("{}", error.what());
  }
  auto contents = isFloating(type) ? std::nullopt : inferContents(expr, context, shape, instructionTypes(expr, types));
  context.output(type, std::move(shape), std::move(contents));
}

void Pointwise::evaluate(const EvalContext& context) const {
  if (evaluateInBlocks(expr, context)) return;
  const auto& out = context.outputs[0];
  std::vector<DataType> types;
  std::vector<Strides> strides;
  for (const auto& in : context.inputs) {
    types.push_back(in.dtype);
    strides.push_back(broadcastStrides(in.dims, out.dims));
  }
  ScalarProgram program(expr, types);
  std::vector<Number> inputs(types.size());
  int64_t position = 0;
  for (IndexIterator i(out.dims); i.valid(); i.next(), ++position) {
    for (size_t k = 0; k < inputs.size(); ++k) inputs[k] = Number::load(context.inputs[k], i.dot(strides[k]));
    program(inputs).store(out, position);
  }
}

OperatorInfo operatorInfo_pointwise() {
  return describe<Pointwise>();
}

}  // namespace tenon::ops
