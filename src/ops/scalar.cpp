// The scalar table as data, and the algebra and text form of scalar expressions.
#include "ops/scalar.h"

#include <algorithm>
#include <numeric>

#include "ops/scalar_math.h"
#include "ops/wrapping_integer.h"

namespace tenon::ops {
namespace {

constexpr ScalarRow kTable[] = {
#define ROW(name, arity, result, expression) {#name, arity, ScalarResult::result, #expression},
#include "ops/pointwise.table"
#undef ROW
};

using Function = double (*)(double, double, double);
using IntFunction = int64_t (*)(int64_t, int64_t, int64_t);

namespace real {
using namespace scalar_math;  // NOLINT: the rows name these functions
using T = double;
#define ROW(name, arity, result, expression)                                          \
  double f_##name([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T c) { \
    return static_cast<T>(expression);                                                \
  }
#include "ops/pointwise.table"
#undef ROW
constexpr Function kFunctions[] = {
#define ROW(name, arity, result, expression) f_##name,
#include "ops/pointwise.table"
#undef ROW
};
}  // namespace real

namespace integer {
using namespace scalar_math;  // NOLINT: the rows name these functions
using T = WrappingInteger;
#define ROW(name, arity, result, expression)                                                             \
  int64_t f_##name([[maybe_unused]] int64_t x, [[maybe_unused]] int64_t y, [[maybe_unused]] int64_t z) { \
    [[maybe_unused]] const T a(x), b(y), c(z);                                                           \
    return T(expression).value;                                                                          \
  }
#include "ops/pointwise.table"
#undef ROW
constexpr IntFunction kFunctions[] = {
#define ROW(name, arity, result, expression) f_##name,
#include "ops/pointwise.table"
#undef ROW
};
}  // namespace integer

DataType typeOf(const ScalarArgument& argument, std::span<const DataType> inputs,
                const std::vector<DataType>& results) {
  if (argument.kind == ScalarArgument::Kind::kResult) return results.at(static_cast<size_t>(argument.index));
  checkUser(static_cast<size_t>(argument.index) < inputs.size(), "scalar expression: it uses x{} but has {} inputs",
            argument.index, inputs.size());
  return inputs[static_cast<size_t>(argument.index)];
}

// The common type of the operands from `first` on that are no literals.
std::optional<DataType> operandType(const ScalarInstruction& instruction, int first, std::span<const DataType> inputs,
                                    const std::vector<DataType>& results) {
  std::optional<DataType> common;
  for (int i = first; i < row(instruction.op).arity; ++i) {
    const auto& argument = instruction.arguments[static_cast<size_t>(i)];
    if (argument.kind == ScalarArgument::Kind::kLiteral) continue;
    const DataType type = typeOf(argument, inputs, results);
    checkUser(!common || *common == type, "{}: operand types {} and {} differ; cast one of them",
              row(instruction.op).name, name(common.value_or(type)), name(type));
    common = type;
  }
  return common;
}

std::string text(const ScalarArgument& argument) {
  switch (argument.kind) {
    case ScalarArgument::Kind::kInput: return fmt::format("x{}", argument.index);
    case ScalarArgument::Kind::kResult: return fmt::format("t{}", argument.index);
    default: return fmt::format("{}", argument.literal);
  }
}

ScalarArgument readArgument(TextReader& in, size_t instructionCount) {
  const bool isInput = in.peek() == 'x';
  if (isInput || in.peek() == 't') {
    in.expect(isInput ? "x" : "t");
    const int64_t index = in.integer();
    if (index < 0 || index > 255) in.fail("operand numbers are 0 to 255");
    if (!isInput && index >= static_cast<int64_t>(instructionCount)) in.fail("a result is used before it is computed");
    return isInput ? ScalarArgument::input(static_cast<int>(index)) : ScalarArgument::result(static_cast<int>(index));
  }
  return ScalarArgument::constant(in.number());
}

}  // namespace

std::span<const ScalarRow> scalarTable() { return kTable; }

std::optional<ScalarOp> findScalarOp(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const ScalarRow& r) { return r.name == name; });
  if (found == std::end(kTable)) return std::nullopt;
  return static_cast<ScalarOp>(found - std::begin(kTable));
}

double evaluateScalar(ScalarOp op, double a, double b, double c) {
  return real::kFunctions[static_cast<size_t>(op)](a, b, c);
}

int64_t evaluateScalar(ScalarOp op, int64_t a, int64_t b, int64_t c) {
  return integer::kFunctions[static_cast<size_t>(op)](a, b, c);
}

int ScalarExpr::inputCount() const noexcept {
  int count = 1;
  for (const auto& instruction : instructions) {
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (argument.kind == ScalarArgument::Kind::kInput) count = std::max(count, argument.index + 1);
    }
  }
  return count;
}

ScalarExpr ScalarExpr::of(ScalarOp op, std::vector<ScalarArgument> arguments) {
  ScalarInstruction instruction;
  instruction.op = op;
  for (int i = static_cast<int>(arguments.size()); i < row(op).arity; ++i)
    arguments.push_back(ScalarArgument::input(i));
  std::copy_n(arguments.begin(), row(op).arity, instruction.arguments.begin());
  return {{instruction}};
}

ScalarExpr ScalarExpr::castTo(DataType type) {
  ScalarExpr expr = of(ScalarOp::k_cast);
  expr.instructions[0].castTo = type;
  return expr;
}

ScalarExpr ScalarExpr::withInputs(std::span<const int> map) const {
  ScalarExpr result = *this;
  if (result.empty() && !map.empty() && map[0] != 0) result = of(ScalarOp::k_identity);
  for (auto& instruction : result.instructions) {
    for (auto& argument : instruction.arguments) {
      if (argument.kind == ScalarArgument::Kind::kInput && static_cast<size_t>(argument.index) < map.size()) {
        argument.index = map[static_cast<size_t>(argument.index)];
      }
    }
  }
  return result;
}

ScalarExpr ScalarExpr::compose(int input, const ScalarExpr& inner) const {
  if (empty()) return input == 0 ? inner : *this;
  if (inner.empty()) {  // x0 takes the place of the input
    std::vector<int> map(static_cast<size_t>(std::max(inputCount(), input + 1)));
    std::iota(map.begin(), map.end(), 0);
    map[static_cast<size_t>(input)] = 0;
    return withInputs(map);
  }
  ScalarExpr result = inner;
  const int offset = static_cast<int>(inner.instructions.size());
  for (auto instruction : instructions) {
    for (auto& argument : instruction.arguments) {
      if (argument.kind == ScalarArgument::Kind::kInput && argument.index == input) {
        argument = ScalarArgument::result(offset - 1);
      } else if (argument.kind == ScalarArgument::Kind::kResult) {
        argument.index += offset;
      }
    }
    result.instructions.push_back(instruction);
  }
  return result;
}

std::vector<DataType> instructionTypes(const ScalarExpr& expr, std::span<const DataType> inputs) {
  std::vector<DataType> results;
  for (const auto& instruction : expr.instructions) {
    switch (row(instruction.op).result) {
      case ScalarResult::kCast: results.push_back(instruction.castTo); break;
      case ScalarResult::kBool:
        operandType(instruction, 0, inputs, results);
        results.push_back(DataType::kBool);
        break;
      case ScalarResult::kOperand1:
        results.push_back(operandType(instruction, 1, inputs, results).value_or(DataType::kF32));
        break;
      case ScalarResult::kSame:
        results.push_back(operandType(instruction, 0, inputs, results).value_or(DataType::kF32));
        break;
      case ScalarResult::kInteger:
        results.push_back(operandType(instruction, 0, inputs, results).value_or(DataType::kF32));
        checkUser(isInteger(results.back()), "{}: operand type {}; expected an integer type", row(instruction.op).name,
                  name(results.back()));
        break;
    }
  }
  return results;
}

DataType resultType(const ScalarExpr& expr, std::span<const DataType> inputs) {
  checkUser(!inputs.empty(), "scalar expression: it has no input");
  return expr.empty() ? inputs[0] : instructionTypes(expr, inputs).back();
}

std::string text(const ScalarExpr& expr) {
  std::string result;
  for (const auto& instruction : expr.instructions) {
    const auto& r = row(instruction.op);
    result += fmt::format("{}{}", result.empty() ? "" : ";", r.name);
    if (r.result == ScalarResult::kCast) result += fmt::format(".{}", name(instruction.castTo));
    result += "(";
    for (int i = 0; i < r.arity; ++i)
      result += (i == 0 ? "" : ",") + text(instruction.arguments[static_cast<size_t>(i)]);
    result += ")";
  }
  return result;
}

ScalarExpr parseScalarExpr(std::string_view source) {
  TextReader in(source, "scalar expression");
  ScalarExpr expr;
  while (!in.atEnd()) {
    if (!expr.empty()) in.expect(";");
    ScalarInstruction instruction;
    auto opName = in.identifier();
    if (const auto dot = opName.find('.'); dot != std::string::npos) {
      instruction.castTo = parseDataType(std::string_view(opName).substr(dot + 1));
      opName.resize(dot);
    }
    const auto op = findScalarOp(opName);
    if (!op) in.fail(fmt::format("unknown scalar operator '{}'", opName));
    instruction.op = *op;
    const bool typed = row(*op).result == ScalarResult::kCast;
    if (!typed && instruction.castTo != DataType::kF32) in.fail("only casts name a type");
    in.expect("(");
    for (int i = 0; i < row(*op).arity; ++i) {
      if (i > 0) in.expect(",");
      instruction.arguments[static_cast<size_t>(i)] = readArgument(in, expr.instructions.size());
    }
    in.expect(")");
    expr.instructions.push_back(instruction);
    if (expr.instructions.size() > 256) in.fail("more than 256 instructions");
  }
  return expr;
}

}  // namespace tenon::ops
