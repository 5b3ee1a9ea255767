// Translation of scalar expressions into calls of vector functions.
#include "backends/cpu/kernels/common/pointwise_code.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "backends/cpu/kernels/common/pointwise_forms.h"
#include "backends/cpu/kernels/simd/quantize_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

using ops::ScalarArgument;
using ops::ScalarExpr;
using ops::ScalarInstruction;
using ops::ScalarOp;

// Floating types that are computed in f32.
bool isNarrow(DataType type) { return type == DataType::kF16 || type == DataType::kBF16 || type == DataType::kF8E4M3; }
DataType computedIn(DataType type) { return isNarrow(type) ? DataType::kF32 : type; }

// Where a value stands: in its own type, and in the type that it is computed in. -1: not there yet.
struct Value {
  DataType type = DataType::kF32;
  int own = -1;
  int computed = -1;
  int truth = -1;  // of a number that was cast from a truth value: that, as any byte but 0
};

// Bytes from f32: what is rounded, has b[0] added and is cut to the range of the type.
template <DataType kType>
void roundedBytes(const void* a, const void* b, const void*, void* to, size_t count) {
  static const auto kQuantize = quantizeFunctions(kType).quantize;
  constexpr double kScale = 1;
  const auto zero = static_cast<double>(*static_cast<const float*>(b));
  kQuantize(static_cast<const float*>(a), &kScale, &zero, 0, to, count);
}

class Translation {
 public:
  Translation(PointwiseCode& code, const ops::ScalarExpr& expr, std::span<const DataType> inputs,
              const std::vector<bool>& single)
      : code_(code), expr_(expr) {
    for (const auto type : inputs) {
      const size_t index = inputs_.size();
      const int buffer = add(type, index < single.size() && single[index]);
      inputs_.push_back({type, buffer, isNarrow(type) || type == DataType::kBool ? -1 : buffer});
    }
    types_ = ops::instructionTypes(expr, inputs);
  }

  void run() {
    for (size_t i = 0; i < expr_.instructions.size(); ++i) {
      const auto& instruction = expr_.instructions[i];
      results_.push_back(instruction.op == ScalarOp::k_cast ? castOf(instruction, types_[i])
                                                            : computed(instruction, types_[i]));
    }
  }

  // The value of an instruction in its type, in a buffer that nothing else is.
  int output(int64_t instruction) {
    auto& value = results_.at(static_cast<size_t>(instruction));
    int buffer = own(value);
    buffer = whole(buffer);
    const bool taken = buffer < static_cast<int>(inputs_.size()) ||
                       std::find(code_.outputs.begin(), code_.outputs.end(), buffer) != code_.outputs.end();
    if (taken) {
      buffer = call(copyOf(value.type), {buffer, buffer, buffer}, value.type);
      code_.calls.back().wantsLanes = value.type == DataType::kF32;
    }
    return buffer;
  }

 private:
  int add(DataType type, bool single) {
    if (bits(type) < 8 || type == DataType::kE8M0)
      throw Unsupported("cpu.pointwise: values of {} are not supported", name(type));
    code_.buffers.push_back(type);
    code_.isSingle.push_back(single);
    return static_cast<int>(code_.buffers.size()) - 1;
  }
  bool isSingle(int buffer) const { return code_.isSingle[static_cast<size_t>(buffer)]; }
  DataType typeOf(int buffer) const { return code_.buffers[static_cast<size_t>(buffer)]; }

  // The value of a buffer in one that holds a block.
  int whole(int buffer) {
    if (!isSingle(buffer)) return buffer;
    for (const auto& [from, to] : spread_) {
      if (from == buffer) return to;
    }
    const DataType type = typeOf(buffer);
    const int to = add(type, false);
    code_.calls.push_back({spreadFunction(type), {buffer, buffer, buffer}, to});
    spread_.emplace_back(buffer, to);
    return to;
  }

  int call(VectorFunction function, std::array<int, 3> operands, DataType result) {
    const bool single = std::all_of(operands.begin(), operands.end(), [&](int operand) { return isSingle(operand); });
    for (auto& operand : operands) operand = single ? operand : whole(operand);
    const int buffer = add(result, single);
    code_.calls.push_back({function, operands, buffer, false, single});
    return buffer;
  }

  // The call of an operator over operands of `type`, of which some may be single values.
  int call(ScalarOp op, DataType type, std::array<int, 3> operands, DataType result) {
    const int arity = ops::row(op).arity;
    if (op == ScalarOp::k_fma && isSingle(operands[0]) && !isSingle(operands[1])) std::swap(operands[0], operands[1]);
    int same = 0;
    for (int i = 0; i < arity; ++i) same |= isSingle(operands[static_cast<size_t>(i)]) ? 1 << i : 0;
    VectorFunction function = nullptr;
    if (same != 0 && same != (1 << arity) - 1) {
      const bool swaps = same == 1 && arity == 2;
      const auto asked = swaps ? mirrored(op) : op;
      function = typedFunctionWithSame(asked, type, swaps && (isCommutative(op) || asked != op) ? 2 : same);
      if (function != nullptr && swaps) std::swap(operands[0], operands[1]);
    }
    const bool wantsLanes = type == DataType::kF32 && ops::row(op).result != ops::ScalarResult::kBool;
    if (function == nullptr) {
      const int buffer = call(typedFunction(op, type), operands, result);
      code_.calls.back().wantsLanes = wantsLanes;
      return buffer;
    }
    const int buffer = add(result, false);
    code_.calls.push_back({function, operands, buffer, false, false, wantsLanes});
    return buffer;
  }

  static VectorFunction copyOf(DataType type) {
    if (type == DataType::kF8E4M3) return castFunction(DataType::kU8, DataType::kU8);
    if (isNarrow(type)) return wideCopy();
    return type == DataType::kF32 ? vectorFunction(ScalarOp::k_identity) : castFunction(type, type);
  }
  static VectorFunction wideCopy() {
    return [](const void* from, const void*, const void*, void* to, size_t count) {
      std::copy_n(static_cast<const uint16_t*>(from), count, static_cast<uint16_t*>(to));
    };
  }

  int literal(double value, DataType type) {
    for (const auto& known : code_.literals) {
      if (code_.buffers[static_cast<size_t>(known.buffer)] == type && sameField(known.value, value))
        return known.buffer;
    }
    const int buffer = add(type, true);
    code_.literals.push_back({buffer, value});
    return buffer;
  }

  int convert(int buffer, DataType from, DataType to) {
    return from == to ? buffer : call(castFunction(from, to), {buffer, buffer, buffer}, to);
  }
  int own(Value& value) {
    if (value.own < 0) value.own = convert(value.computed, computedIn(value.type), value.type);
    return value.own;
  }
  // Truth values of others may be any byte but 0.
  int computedOf(Value& value) {
    if (value.computed < 0) {
      value.computed = value.type == DataType::kBool
                           ? call(copyOf(value.type), {value.own, value.own, value.own}, value.type)
                           : convert(value.own, value.type, computedIn(value.type));
    }
    return value.computed;
  }
  // For calls that take any byte but 0 as true.
  int anyTruth(Value& value) { return value.type == DataType::kBool ? value.own : computedOf(value); }

  Value* valueOf(const ScalarArgument& argument) {
    switch (argument.kind) {
      case ScalarArgument::Kind::kInput: return &inputs_.at(static_cast<size_t>(argument.index));
      case ScalarArgument::Kind::kResult: return &results_.at(static_cast<size_t>(argument.index));
      default: return nullptr;
    }
  }

  static Value valueIn(DataType type, int buffer) {
    return isNarrow(type) ? Value{type, buffer, -1} : Value{type, buffer, buffer};
  }

  // The instruction that an argument is the result of, where that is `op`.
  const ScalarInstruction* resultOf(const ScalarArgument& argument, ScalarOp op) const {
    if (argument.kind != ScalarArgument::Kind::kResult) return nullptr;
    const auto& instruction = expr_.instructions.at(static_cast<size_t>(argument.index));
    return instruction.op == op ? &instruction : nullptr;
  }

  // A byte without sign, less 128, as a byte with a sign: its first bit changes.
  std::optional<Value> signedByte(const ScalarInstruction& instruction, DataType to) {
    constexpr double kMiddle = 128;
    const auto* const difference = to == DataType::kI8 ? resultOf(instruction.arguments[0], ScalarOp::k_sub) : nullptr;
    if (difference == nullptr || difference->arguments[1].kind != ScalarArgument::Kind::kLiteral ||
        !sameField(difference->arguments[1].literal, kMiddle))
      return std::nullopt;
    const auto& wide = difference->arguments[0];
    const auto* const cast = resultOf(wide, ScalarOp::k_cast);
    if (cast == nullptr || types_[static_cast<size_t>(wide.index)] != DataType::kI32) return std::nullopt;
    Value* const byte = valueOf(cast->arguments[0]);
    if (byte == nullptr || byte->type != DataType::kU8) return std::nullopt;
    const std::array<int, 3> operands{byte->computed, literal(kMiddle, DataType::kU8), byte->computed};
    return valueIn(to, call(ScalarOp::k_bit_xor, DataType::kU8, operands, to));
  }

  // The other operand of `op`, whose second one is this literal.
  const ScalarArgument* besideLiteral(const ScalarArgument& argument, ScalarOp op, double literal) const {
    const auto* const found = resultOf(argument, op);
    if (found == nullptr || found->arguments[1].kind != ScalarArgument::Kind::kLiteral) return nullptr;
    return sameField(found->arguments[1].literal, literal) ? &found->arguments[0] : nullptr;
  }

  // A scaled sum of integers, rounded, moved by a whole number and cut to the range of a byte, in one call: what
  // requantizes. Sums of integers have no NaN, which the steps treat in another way.
  std::optional<Value> requantized(const ScalarInstruction& instruction, DataType to) {
    if (to != DataType::kU8 && to != DataType::kI8) return std::nullopt;
    const bool isSigned = to == DataType::kI8;
    const auto* at = besideLiteral(instruction.arguments[0], ScalarOp::k_min, isSigned ? 127 : 255);
    if (at != nullptr) at = besideLiteral(*at, ScalarOp::k_max, isSigned ? -128 : 0);
    if (at == nullptr) return std::nullopt;
    double zero = 0;
    const auto* const sum = resultOf(*at, ScalarOp::k_add);
    if (sum != nullptr && sum->arguments[1].kind == ScalarArgument::Kind::kLiteral) {
      zero = sum->arguments[1].literal;
      at = &sum->arguments[0];
    }
    const auto* const rounded = resultOf(*at, ScalarOp::k_round);
    const auto* const scaled = rounded == nullptr ? nullptr : resultOf(rounded->arguments[0], ScalarOp::k_mul);
    if (scaled == nullptr || zero != std::trunc(zero) || std::abs(zero) > 255) return std::nullopt;
    const auto isSum = [&](const ScalarArgument& factor) {
      const auto* const cast = resultOf(factor, ScalarOp::k_cast);
      if (cast == nullptr || types_[static_cast<size_t>(factor.index)] != DataType::kF32) return false;
      const Value* const from = valueOf(cast->arguments[0]);
      return from != nullptr && from->type == DataType::kI32;
    };
    if (!isSum(scaled->arguments[0]) && !isSum(scaled->arguments[1])) return std::nullopt;
    Value* const value = valueOf(rounded->arguments[0]);
    if (value == nullptr || value->type != DataType::kF32) return std::nullopt;
    const int from = computedOf(*value);
    return valueIn(to, call(isSigned ? roundedBytes<DataType::kI8> : roundedBytes<DataType::kU8>,
                            {from, literal(zero, DataType::kF32), from}, to));
  }

  Value castOf(const ScalarInstruction& instruction, DataType to) {
    if (const auto byte = signedByte(instruction, to)) return *byte;
    if (const auto byte = requantized(instruction, to)) return *byte;
    Value* const from = valueOf(instruction.arguments[0]);
    if (from != nullptr && from->type == to && from->own >= 0) return *from;
    int buffer = from == nullptr ? literal(instruction.arguments[0].literal, DataType::kF32) : anyTruth(*from);
    DataType type = from == nullptr ? DataType::kF32 : computedIn(from->type);
    if (isNarrow(to)) {
      buffer = convert(buffer, type, DataType::kF32);
      type = DataType::kF32;
    }
    Value result = valueIn(to, convert(buffer, type, to));
    if (from != nullptr && from->type == DataType::kBool) result.truth = from->own;
    return result;
  }

  // A byte 0 or 1.
  int condition(const ScalarArgument& argument) {
    Value* const value = valueOf(argument);
    if (value == nullptr) return literal(argument.literal != 0 ? 1 : 0, DataType::kBool);
    return convert(anyTruth(*value), computedIn(value->type), DataType::kBool);
  }

  // The same truth value of both sides, whatever numbers they were made.
  std::optional<Value> agreement(const ScalarInstruction& instruction) {
    if (instruction.op != ScalarOp::k_equal) return std::nullopt;
    std::array<int, 3> operands{};
    for (size_t i = 0; i < 2; ++i) {
      const Value* const value = valueOf(instruction.arguments[i]);
      if (value == nullptr) return std::nullopt;
      operands[i] = value->type == DataType::kBool ? value->own : value->truth;
      if (operands[i] < 0) return std::nullopt;
    }
    operands[2] = operands[0];
    return valueOfComputed(DataType::kBool, call(ScalarOp::k_equal, DataType::kBool, operands, DataType::kBool));
  }

  Value computed(const ScalarInstruction& instruction, DataType result) {
    if (const auto found = agreement(instruction)) return *found;
    const auto& row = ops::row(instruction.op);
    const int first = row.result == ops::ScalarResult::kOperand1 ? 1 : 0;
    std::optional<DataType> common;
    for (int i = first; i < row.arity; ++i) {
      const auto* value = valueOf(instruction.arguments[static_cast<size_t>(i)]);
      if (value != nullptr) common = computedIn(value->type);
    }
    const DataType type = common.value_or(DataType::kF32);
    VectorFunction function = typedFunction(instruction.op, type);
    for (int i = first; i < row.arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (valueOf(argument) == nullptr && !holds(type, argument.literal)) function = nullptr;
    }
    const DataType in = function != nullptr ? type : DataType::kI64;
    std::array<int, 3> operands{};
    for (int i = 0; i < row.arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      auto& operand = operands[static_cast<size_t>(i)];
      Value* const value = valueOf(argument);
      if (i < first) {
        operand = condition(argument);
        if (function == nullptr) operand = convert(operand, DataType::kBool, DataType::kI64);
      } else {
        operand = value == nullptr
                      ? literal(argument.literal, in)
                      : convert(isLogical(instruction.op) ? anyTruth(*value) : computedOf(*value), type, in);
      }
    }
    for (int i = row.arity; i < 3; ++i) operands[static_cast<size_t>(i)] = operands[0];
    const DataType made = computedIn(result);
    if (function != nullptr) {
      const auto& exponent = instruction.arguments[1];
      const bool isCube = instruction.op == ScalarOp::k_pow && type == DataType::kF32 &&
                          exponent.kind == ScalarArgument::Kind::kLiteral && sameField(exponent.literal, 3.);
      const int buffer = isCube ? call(cubeFunction(), {operands[0], operands[0], operands[0]}, made)
                                : call(instruction.op, type, operands, made);
      code_.calls.back().mayOverwrite = type == DataType::kF32 && row.result == ops::ScalarResult::kSame;
      code_.calls.back().wantsLanes = code_.calls.back().wantsLanes || isCube;
      return valueOfComputed(result, buffer);
    }
    const int wide = call(wideFunction(instruction.op), operands, DataType::kI64);
    if (made == DataType::kI64) return valueOfComputed(result, wide);
    if (made == DataType::kBool) return valueOfComputed(result, convert(wide, DataType::kI64, made));
    return valueOfComputed(result, call(wrapFunction(made), {wide, wide, wide}, made));
  }

  static Value valueOfComputed(DataType type, int buffer) {
    return isNarrow(type) ? Value{type, -1, buffer} : Value{type, buffer, buffer};
  }

  PointwiseCode& code_;
  const ops::ScalarExpr& expr_;
  std::vector<Value> inputs_, results_;
  std::vector<DataType> types_;
  std::vector<std::pair<int, int>> spread_;  // buffers of single values, and of blocks of them
};

}  // namespace

PointwiseCode::PointwiseCode(const ops::ScalarExpr& expr, std::span<const int64_t> results,
                             std::span<const DataType> inputs, const std::vector<bool>& single) {
  const auto joined = joinProducts(expr, results);
  Translation translation(*this, joined, inputs, single);
  translation.run();
  for (const int64_t result : results) outputs.push_back(translation.output(result));
  countUsed(inputs.size());
}

// Leaves out what no output needs.
void PointwiseCode::countUsed(size_t inputs) {
  isUsed.assign(buffers.size(), false);
  for (const int output : outputs) isUsed[static_cast<size_t>(output)] = true;
  for (size_t i = calls.size(); i-- > 0;) {
    if (!isUsed[static_cast<size_t>(calls[i].result)]) continue;
    for (const int operand : calls[i].operands) isUsed[static_cast<size_t>(operand)] = true;
  }
  for (const auto& call : calls) takesAnyCount = takesAnyCount && (call.isSingle || !call.wantsLanes);
  std::erase_if(calls, [&](const Call& call) { return !isUsed[static_cast<size_t>(call.result)]; });
  for (size_t i = 0; i < inputs; ++i) isUsed[i] = true;
  for (size_t i = 0; i < buffers.size(); ++i) bytesPerElement += isUsed[i] && !isSingle[i] ? bits(buffers[i]) / 8 : 0;
}

}  // namespace tenon::backends::cpu
