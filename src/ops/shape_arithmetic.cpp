// One function per class of values: integers exactly as the reference computes them, fractions as long as floating
// point would give the same integers.
#include "ops/shape_arithmetic.h"

#include <array>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/lazy_text.h"
#include "ops/fraction.h"
#include "ops/scalar_program.h"

namespace tenon::ops {
namespace {

using Values = std::array<Fraction, 3>;

Interval boundsOf(const Extent& extent) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  std::set<std::string> symbols;
  extent.collectSymbols(symbols);
  SymbolIntervals intervals;
  for (const auto& symbol : symbols) intervals[symbol] = {mayBeNegative(symbol) ? kLowest : 0, kHighest};
  return extent.bounds(intervals);
}

bool isNonNegative(const Extent& extent) { return boundsOf(extent).low >= 0; }

// 1 or 0, a number where the signs of symbols decide it.
Extent isLess(const Extent& a, const Extent& b) {
  if (isNonNegative(a - b)) return 0;
  return isNonNegative(b - a - Extent(1)) ? Extent(1) : less(a, b);
}

Extent isEqual(const Extent& a, const Extent& b) {
  const bool differ = isNonNegative(a - b - Extent(1)) || isNonNegative(b - a - Extent(1));
  return differ ? Extent(0) : equal(a, b);
}

// Towards zero.
Extent truncatedDivide(const Extent& a, const Extent& b) {
  const bool isNegative = b.isConstant() && b.constant() < 0 && b.constant() > std::numeric_limits<int64_t>::min();
  if (isNegative) return Extent(0) - truncatedDivide(a, -b.constant());
  if (isNonNegative(a) && isNonNegative(b)) return floorDiv(a, b);
  if (b.isConstant() && b.constant() > 0 && isNonNegative(Extent(0) - a)) return ceilDiv(a, b);
  // Below zero the next higher one: (a + b - 1) / b, rounded down.
  if (b.isConstant() && b.constant() > 0) return floorDiv(a + less(a, 0) * Extent(b.constant() - 1), b);
  return max(floorDiv(a, b), 0) + min(ceilDiv(a, b), 0);
}

void refuseZero(const Extent& a, const Extent& b) {
  checkUser(!b.isConstant(0) || a.isConstant(), "the shape computation divides {} by 0; the divisor must not be zero",
            textOf(a));
}

std::optional<Extent> integers(ScalarOp op, const std::array<Extent, 3>& v) {
  switch (op) {
    case ScalarOp::k_identity:
    case ScalarOp::k_ceil:
    case ScalarOp::k_floor:
    case ScalarOp::k_round: return v[0];
    case ScalarOp::k_relu: return max(v[0], 0);
    case ScalarOp::k_abs: return isNonNegative(v[0]) ? v[0] : max(v[0], Extent(0) - v[0]);
    case ScalarOp::k_sign: return isLess(0, v[0]) - isLess(v[0], 0);
    case ScalarOp::k_add: return v[0] + v[1];
    case ScalarOp::k_sub: return v[0] - v[1];
    case ScalarOp::k_mul: return v[0] * v[1];
    case ScalarOp::k_fma: return v[0] * v[1] + v[2];
    case ScalarOp::k_neg: return Extent(0) - v[0];
    case ScalarOp::k_min: return min(v[0], v[1]);
    case ScalarOp::k_max: return max(v[0], v[1]);
    case ScalarOp::k_clip:
      if (isNonNegative(v[2] - v[1])) return min(max(v[0], v[1]), v[2]);
      return less(v[0], v[1]) * v[1] + (Extent(1) - less(v[0], v[1])) * min(v[0], v[2]);
    case ScalarOp::k_equal: return isEqual(v[0], v[1]);
    case ScalarOp::k_less: return isLess(v[0], v[1]);
    case ScalarOp::k_greater: return isLess(v[1], v[0]);
    case ScalarOp::k_not: return equal(v[0], 0);
    case ScalarOp::k_and: return (Extent(1) - equal(v[0], 0)) * (Extent(1) - equal(v[1], 0));
    case ScalarOp::k_or: return Extent(1) - equal(v[0], 0) * equal(v[1], 0);
    case ScalarOp::k_xor: return equal(v[0], 0) + equal(v[1], 0) - equal(v[0], 0) * equal(v[1], 0) * Extent(2);
    case ScalarOp::k_floor_div: refuseZero(v[0], v[1]); return floorDiv(v[0], v[1]);
    case ScalarOp::k_div: refuseZero(v[0], v[1]); return truncatedDivide(v[0], v[1]);
    case ScalarOp::k_mod: refuseZero(v[0], v[1]); return v[0] - floorDiv(v[0], v[1]) * v[1];
    case ScalarOp::k_fmod: refuseZero(v[0], v[1]); return v[0] - truncatedDivide(v[0], v[1]) * v[1];
    case ScalarOp::k_select:
      if (v[0].isConstant()) return v[0].constant() != 0 ? v[1] : v[2];
      return v[1] == v[2] ? std::optional(v[1]) : std::optional(v[0] * v[1] + (Extent(1) - v[0]) * v[2]);
    default: return std::nullopt;
  }
}

// The two over one denominator, where they can be compared as floating point does.
bool align(Fraction& a, Fraction& b) {
  if (a.denominator == b.denominator) return true;
  if ((!a.isBinary() || !b.isBinary()) && !a.isInteger() && !b.isInteger()) return false;
  const int64_t common = std::max(a.denominator, b.denominator);  // one divides the other
  a = {a.numerator * Extent(common / a.denominator), common};
  b = {b.numerator * Extent(common / b.denominator), common};
  return true;
}

// Sums of thirds might be rounded across an integer. A sum of a third and an integer is not: a third is never nearer to
// an integer than floating point sees.
bool sumIsExact(const Fraction& a, const Fraction& b) {
  return a.isBinary() == b.isBinary() ? a.isBinary() : a.isInteger() || b.isInteger();
}

constexpr int64_t kFinest = int64_t{1} << 30;  // products of two denominators below stay whole

// Denominators beyond are no longer followed.
std::optional<Fraction> bounded(const Fraction& fraction) {
  return fraction.denominator < kFinest ? std::optional(fraction) : std::nullopt;
}

std::optional<Fraction> quotient(const Fraction& a, const Fraction& b) {
  if (!b.numerator.isConstant() || b.numerator.isConstant(0) || !a.isBinary() || !b.isBinary()) return std::nullopt;
  const int64_t divisor = b.numerator.constant();
  if (divisor <= -kFinest || divisor >= kFinest) return std::nullopt;
  const Extent numerator = a.numerator * Extent(divisor < 0 ? -b.denominator : b.denominator);
  return bounded(reduced(numerator, a.denominator * std::abs(divisor)));
}

std::optional<Fraction> product(const Fraction& a, const Fraction& b) {
  const auto isSign = [](const Fraction& x) {
    return x.isInteger() && (x.numerator.isConstant(1) || x.numerator.isConstant(-1));
  };
  const bool isExact = (a.isBinary() && b.isBinary()) || isSign(a) || isSign(b);
  if (!isExact) return std::nullopt;
  return bounded(reduced(a.numerator * b.numerator, a.denominator * b.denominator));
}

std::optional<Fraction> fractions(ScalarOp op, Values v) {
  const auto whole = [](Extent value) { return Fraction{std::move(value), 1}; };
  const auto floor = [](const Fraction& x) {
    return x.isInteger() ? x.numerator : floorDiv(x.numerator, x.denominator);
  };
  auto& [a, b, c] = v;
  switch (op) {
    case ScalarOp::k_identity: return a;
    case ScalarOp::k_floor: return whole(floor(a));
    case ScalarOp::k_ceil: return whole(a.isInteger() ? a.numerator : ceilDiv(a.numerator, a.denominator));
    case ScalarOp::k_round: return a.isInteger() ? std::optional(a) : std::nullopt;
    case ScalarOp::k_neg:
    case ScalarOp::k_abs:
    case ScalarOp::k_relu: return Fraction{*integers(op, {a.numerator, 0, 0}), a.denominator};
    case ScalarOp::k_sign: return whole(*integers(op, {a.numerator, 0, 0}));
    case ScalarOp::k_mul: return product(a, b);
    case ScalarOp::k_div: return quotient(a, b);
    case ScalarOp::k_floor_div: {
      const auto result = quotient(a, b);
      return result ? std::optional(whole(floor(*result))) : std::nullopt;
    }
    case ScalarOp::k_add:
    case ScalarOp::k_sub:
      if (!sumIsExact(a, b)) return std::nullopt;
      [[fallthrough]];
    case ScalarOp::k_min:
    case ScalarOp::k_max:
      if (!align(a, b)) return std::nullopt;
      return reduced(*integers(op, {a.numerator, b.numerator, 0}), a.denominator);
    case ScalarOp::k_equal:
    case ScalarOp::k_less:
    case ScalarOp::k_greater:
      if (!align(a, b)) return std::nullopt;
      return whole(*integers(op, {a.numerator, b.numerator, 0}));
    case ScalarOp::k_select:
      if (!align(b, c)) return std::nullopt;
      return reduced(*integers(op, {a.numerator, b.numerator, c.numerator}), b.denominator);
    default: return std::nullopt;
  }
}

// A cast keeps the value in the wide types and cuts fractions off; narrow ones saturate, which only constants can
// follow.
std::optional<Fraction> cast(const Fraction& value, DataType type) {
  if (type == DataType::kF32) return value;
  if (isFloating(type)) return std::nullopt;
  if (type == DataType::kBool) return Fraction{Extent(1) - equal(value.numerator, 0), 1};
  const Extent integer = value.isInteger() ? value.numerator : truncatedDivide(value.numerator, value.denominator);
  if (integer.isConstant())
    return Fraction{castNumber(Number::ofInteger(integer.constant(), DataType::kI64), type).integer, 1};
  if (type == DataType::kI64 || type == DataType::kI32) return Fraction{integer, 1};
  return std::nullopt;
}

}  // namespace

bool followsType(DataType type) noexcept { return !isFloating(type) || type == DataType::kF32; }

std::optional<Extent> followScalar(const ScalarExpr& expr, std::span<const Extent> inputs,
                                   std::span<const DataType> types) {
  if (expr.empty()) return inputs[0];
  const auto resultTypes = instructionTypes(expr, types);
  std::vector<Fraction> results;
  for (size_t i = 0; i < expr.instructions.size(); ++i) {
    const auto& instruction = expr.instructions[i];
    const auto arity = static_cast<size_t>(row(instruction.op).arity);
    Values values;
    bool isFloat = isFloating(resultTypes[i]);
    for (size_t k = 0; k < arity; ++k) {
      const auto& argument = instruction.arguments[k];
      const auto index = static_cast<size_t>(argument.index);
      if (argument.kind == ScalarArgument::Kind::kLiteral) continue;
      const bool isInput = argument.kind == ScalarArgument::Kind::kInput;
      const DataType type = isInput ? types[index] : resultTypes[index];
      if (!followsType(type)) return std::nullopt;
      isFloat = isFloat || isFloating(type);
      const auto value = !isInput           ? std::optional(results[index])
                         : isFloating(type) ? fromContents(inputs[index])
                                            : std::optional(Fraction{inputs[index], 1});
      if (!value || value->denominator >= kFinest) return std::nullopt;
      values[k] = *value;
    }
    for (size_t k = 0; k < arity; ++k) {
      const auto& argument = instruction.arguments[k];
      if (argument.kind != ScalarArgument::Kind::kLiteral) continue;
      const auto value =
          isFloat ? fractionOf(argument.literal) : std::optional(Fraction{saturatedInteger(argument.literal), 1});
      if (!value) return std::nullopt;
      values[k] = *value;
    }
    if (!followsType(resultTypes[i])) return std::nullopt;
    std::optional<Fraction> result;
    if (instruction.op == ScalarOp::k_cast) {
      result = cast(values[0], resultTypes[i]);
    } else if (isFloat) {
      result = fractions(instruction.op, values);
    } else {
      const std::array<Extent, 3> v{values[0].numerator, values[1].numerator, values[2].numerator};
      const bool isConstant = v[0].isConstant() && v[1].isConstant() && v[2].isConstant();
      const auto integer =
          isConstant
              ? std::optional(Extent(evaluateScalar(instruction.op, v[0].constant(), v[1].constant(), v[2].constant())))
              : integers(instruction.op, v);
      const bool isNarrow = resultTypes[i] != DataType::kBool && bits(resultTypes[i]) < 32;
      if (!integer || (isNarrow && !integer->isConstant())) return std::nullopt;  // narrow ones might wrap
      result = Fraction{integer->isConstant() ? Extent(wrapped(integer->constant(), resultTypes[i])) : *integer, 1};
    }
    if (!result) return std::nullopt;
    results.push_back(*result);
  }
  // A dimension of the user may be called like the symbol of a denominator; then it cannot be told apart.
  const Extent contents = isFloating(resultTypes.back()) ? toContents(results.back()) : results.back().numerator;
  const auto back = isFloating(resultTypes.back()) ? fromContents(contents) : std::optional(results.back());
  if (!back || back->numerator != results.back().numerator || back->denominator != results.back().denominator)
    return std::nullopt;
  return contents;
}

}  // namespace tenon::ops
