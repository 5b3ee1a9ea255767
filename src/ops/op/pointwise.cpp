// Pointwise: type and shape rule, symbolic contents of shape arithmetic, reference in double or int64.
#include "ops/op/pointwise.h"

namespace tenon::ops {
namespace {

std::optional<Extent> applySymbolic(ScalarOp op, const std::array<Extent, 3>& v) {
  switch (op) {
    case ScalarOp::k_identity:
    case ScalarOp::k_cast: return v[0];
    case ScalarOp::k_add: return v[0] + v[1];
    case ScalarOp::k_sub: return v[0] - v[1];
    case ScalarOp::k_mul: return v[0] * v[1];
    case ScalarOp::k_neg: return Extent(0) - v[0];
    case ScalarOp::k_min: return min(v[0], v[1]);
    case ScalarOp::k_max: return max(v[0], v[1]);
    case ScalarOp::k_equal: return equal(v[0], v[1]);
    case ScalarOp::k_less: return less(v[0], v[1]);
    case ScalarOp::k_greater: return less(v[1], v[0]);
    case ScalarOp::k_not: return equal(v[0], 0);
    case ScalarOp::k_floor_div:
    case ScalarOp::k_div:  // truncation and floor agree for extents, which are never negative
      if (!v[1].isConstant() || v[1].constant() <= 0) return std::nullopt;
      if (op == ScalarOp::k_div && v[0].isConstant() && v[0].constant() < 0) return v[0].constant() / v[1].constant();
      return floorDiv(v[0], v[1]);
    case ScalarOp::k_select:
      if (v[0].isConstant()) return v[0].constant() != 0 ? v[1] : v[2];
      return v[1] == v[2] ? std::optional(v[1]) : std::optional(v[0] * v[1] + (Extent(1) - v[0]) * v[2]);
    default: break;
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
        case ScalarArgument::Kind::kInput: values[static_cast<size_t>(k)] = inputs[index]; break;
        case ScalarArgument::Kind::kResult: values[static_cast<size_t>(k)] = results[index]; break;
        case ScalarArgument::Kind::kLiteral: values[static_cast<size_t>(k)] = static_cast<int64_t>(argument.literal); break;
      }
    }
    const auto value = applySymbolic(instruction.op, values);
    if (!value) return std::nullopt;
    results.push_back(*value);
  }
  return results.back();
}

std::optional<std::vector<Extent>> inferContents(const ScalarExpr& expr, const InferContext& context, const Shape& shape,
                                                 const std::vector<DataType>& types) {
  if (shape.size() > 1 || !isConstant(shape)) return std::nullopt;
  const int64_t count = shape.empty() ? 1 : shape[0].constant();
  if (count > kMaxContents) return std::nullopt;
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

// Strides of an input within the output's index space: 0 where it broadcasts.
std::array<int64_t, kMaxRank> broadcastStrides(const Dims& input, const Dims& output) {
  std::array<int64_t, kMaxRank> result{};
  const auto strides = input.strides();
  const int offset = output.rank - input.rank;
  for (int axis = 0; axis < input.rank; ++axis) {
    if (input[axis] != 1) result[static_cast<size_t>(axis + offset)] = strides[static_cast<size_t>(axis)];
  }
  return result;
}

// A value during evaluation: both forms, because an instruction may cast from one class to the other.
struct Number {
  double real = 0;
  int64_t integer = 0;
  DataType type = DataType::kF32;
};

Number evaluateInstruction(const ScalarInstruction& instruction, const std::array<Number, 3>& operands, DataType type) {
  Number result;
  result.type = type;
  if (instruction.op == ScalarOp::k_cast) {
    // Through the target's storage, so that narrowing rounds as a stored tensor would.
    alignas(8) unsigned char storage[8] = {};
    if (isFloating(operands[0].type)) {
      storeDouble(type, storage, 0, operands[0].real);
    } else {
      storeInt(type, storage, 0, operands[0].integer);
    }
    result.real = loadDouble(type, storage, 0);
    result.integer = loadInt(type, storage, 0);
    return result;
  }
  // select mixes a Bool condition with values of any class: decide on the last operand's class.
  const int arity = row(instruction.op).arity;
  bool floating = false;
  for (int i = 0; i < arity; ++i) floating = floating || isFloating(operands[static_cast<size_t>(i)].type);
  if (floating) {
    std::array<double, 3> v{};
    for (size_t i = 0; i < 3; ++i) {
      v[i] = isFloating(operands[i].type) ? operands[i].real : static_cast<double>(operands[i].integer);
    }
    result.real = evaluateScalar(instruction.op, v[0], v[1], v[2]);
    result.integer = isFloating(type) ? 0 : static_cast<int64_t>(result.real);
  } else {
    result.integer = evaluateScalar(instruction.op, operands[0].integer, operands[1].integer, operands[2].integer);
    result.real = static_cast<double>(result.integer);
  }
  return result;
}

}  // namespace

Facts Pointwise::facts() const {
  Facts facts;
  facts.pointwise = true;
  facts.aliases = {{0, 0, false}};
  return facts;
}

void Pointwise::infer(InferContext& context) const {
  std::vector<DataType> types;
  Shape shape = context.input(0).shape;
  for (size_t i = 0; i < context.inputCount(); ++i) {
    types.push_back(context.input(i).dtype);
    if (i > 0) shape = context.broadcast(shape, context.input(i).shape);
  }
  context.check(expr.inputCount() <= static_cast<int>(context.inputCount()), "expression {} needs {} inputs, got {}",
                ops::text(expr), expr.inputCount(), context.inputCount());
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
  const auto& out = context.outputs[0];
  std::vector<DataType> inputTypes;
  std::vector<std::array<int64_t, kMaxRank>> strides;
  for (const auto& in : context.inputs) {
    inputTypes.push_back(in.dtype);
    strides.push_back(broadcastStrides(in.dims, out.dims));
  }
  const auto types = instructionTypes(expr, inputTypes);
  std::vector<Number> inputs(context.inputs.size());
  std::vector<Number> results(expr.instructions.size());
  int64_t position = 0;
  for (IndexIterator i(out.dims); i.valid(); i.next(), ++position) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto& in = context.inputs[k];
      const int64_t offset = i.dot(strides[k]);
      inputs[k] = {in.loadDouble(offset), isFloating(in.dtype) ? 0 : in.loadInt(offset), in.dtype};
    }
    for (size_t k = 0; k < results.size(); ++k) {
      const auto& instruction = expr.instructions[k];
      // A literal takes the class of the operands beside it.
      bool floating = false;
      std::array<Number, 3> operands;
      for (size_t a = 0; a < static_cast<size_t>(row(instruction.op).arity); ++a) {
        const auto& argument = instruction.arguments[a];
        if (argument.kind == ScalarArgument::Kind::kInput) operands[a] = inputs[static_cast<size_t>(argument.index)];
        if (argument.kind == ScalarArgument::Kind::kResult) operands[a] = results[static_cast<size_t>(argument.index)];
        if (argument.kind != ScalarArgument::Kind::kLiteral) floating = floating || isFloating(operands[a].type);
      }
      for (size_t a = 0; a < 3; ++a) {
        const auto& argument = instruction.arguments[a];
        const bool used = a < static_cast<size_t>(row(instruction.op).arity);
        if (used && argument.kind != ScalarArgument::Kind::kLiteral) continue;
        operands[a] = {used ? argument.literal : 0, used ? static_cast<int64_t>(argument.literal) : 0,
                       floating ? DataType::kF32 : DataType::kI64};
      }
      results[k] = evaluateInstruction(instruction, operands, types[k]);
    }
    const Number& value = results.empty() ? inputs[0] : results.back();
    if (isFloating(out.dtype)) {
      out.storeDouble(position, value.real);
    } else {
      out.storeInt(position, value.integer);
    }
  }
}

OperatorInfo operatorInfo_pointwise() { return describe<Pointwise>(); }

}  // namespace tenon::ops
