// Scalar operators and expressions of them: what pointwise nodes, epilogues of contractions and code generators share.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/fields.h"

namespace tenon::ops {

enum class ScalarOp : uint8_t {
#define ROW(name, arity, result, expression) k_##name,
#include "ops/pointwise.table"
#undef ROW
};

enum class ScalarResult : uint8_t { kSame, kBool, kOperand1, kCast, kInteger };

struct ScalarRow {
  std::string_view name;
  int arity;
  ScalarResult result;
  std::string_view expression;  // the row's text, which is also CUDA C++
};

std::span<const ScalarRow> scalarTable();
inline const ScalarRow& row(ScalarOp op) { return scalarTable()[static_cast<size_t>(op)]; }
std::optional<ScalarOp> findScalarOp(std::string_view name);

// The row's expression. All operands of one call have one class: double for floating types, int64_t for the others.
double evaluateScalar(ScalarOp op, double a, double b, double c);
int64_t evaluateScalar(ScalarOp op, int64_t a, int64_t b, int64_t c);

// One operand of an instruction: an input of the expression, the result of an earlier instruction, or a literal.
struct ScalarArgument {
  enum class Kind : uint8_t { kInput, kResult, kLiteral };
  Kind kind = Kind::kInput;
  int index = 0;
  double literal = 0;

  static ScalarArgument input(int index) { return {Kind::kInput, index, 0}; }
  static ScalarArgument result(int index) { return {Kind::kResult, index, 0}; }
  static ScalarArgument constant(double value) { return {Kind::kLiteral, 0, value}; }
  bool operator==(const ScalarArgument& other) const {
    return kind == other.kind && index == other.index && sameField(literal, other.literal);
  }
};

struct ScalarInstruction {
  ScalarOp op = ScalarOp::k_identity;
  std::array<ScalarArgument, 3> arguments;  // the first arity ones count
  DataType castTo = DataType::kF32;         // of cast only
  bool operator==(const ScalarInstruction&) const = default;
};

// A straight-line program over inputs x0, x1, ...; the last instruction gives the value; empty means x0. Text form:
// "mul(x0,0.5);add(t0,x1);cast.f16(t1)", where t0 is the result of the first instruction.
struct ScalarExpr {
  std::vector<ScalarInstruction> instructions;

  bool empty() const noexcept { return instructions.empty(); }
  int inputCount() const noexcept;  // one more than the highest input used; at least 1
  bool operator==(const ScalarExpr&) const = default;

  // Builders. `of` makes a single instruction over x0, x1, ... or the given arguments.
  static ScalarExpr of(ScalarOp op, std::vector<ScalarArgument> arguments = {});
  static ScalarExpr castTo(DataType type);
  // This expression with its inputs renumbered: input i becomes input map[i].
  ScalarExpr withInputs(std::span<const int> map) const;
  // The expression that has `inner` in place of input `input`. Inputs of both are numbered in the same space.
  ScalarExpr compose(int input, const ScalarExpr& inner) const;
};

// Result type for inputs of the given types. Throws UserError when operand types differ or are wrong for the operator.
DataType resultType(const ScalarExpr& expr, std::span<const DataType> inputs);

// Types of each instruction's result in order (empty for an empty expression).
std::vector<DataType> instructionTypes(const ScalarExpr& expr, std::span<const DataType> inputs);

std::string text(const ScalarExpr& expr);
ScalarExpr parseScalarExpr(std::string_view text);

}  // namespace tenon::ops

namespace tenon {

template <>
struct FieldText<ops::ScalarExpr> {
  static std::string write(const ops::ScalarExpr& value) { return quote(ops::text(value)); }
  static ops::ScalarExpr read(TextReader& in) { return ops::parseScalarExpr(in.quoted()); }
};

}  // namespace tenon
