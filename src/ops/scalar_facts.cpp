// The table of facts, and what follows from it for instructions and expressions.
#include "ops/scalar_facts.h"

#include <algorithm>

namespace tenon::ops {
namespace {

struct NamedFacts {
  ScalarOp op;
  ScalarFacts facts;
};

constexpr NamedFacts kFacts[] = {
#define FACTS(name, sign, trend, cost, half) \
  {ScalarOp::k_##name, {ScalarSign::sign, ScalarTrend::trend, ScalarCost::cost, HalfSafety::half}},
#include "ops/scalar_facts.table"
#undef FACTS
};

constexpr bool standInOrder() {
  for (size_t i = 0; i < std::size(kFacts); ++i) {
    if (static_cast<size_t>(kFacts[i].op) != i) return false;
  }
  return true;
}
constexpr size_t kOperators = 0
#define ROW(name, arity, result, expression) +1
#include "ops/pointwise.table"
#undef ROW
    ;
static_assert(std::size(kFacts) == kOperators && standInOrder(), "scalar_facts.table has the rows of pointwise.table");

bool isNumber(const ScalarArgument& argument) { return argument.kind == ScalarArgument::Kind::kLiteral; }

}  // namespace

const ScalarFacts& factsOf(ScalarOp op) { return kFacts[static_cast<size_t>(op)].facts; }

bool isNonNegative(const ScalarInstruction& instruction) {
  if (factsOf(instruction.op).sign == ScalarSign::kNonNegative) return true;
  const auto& low = instruction.arguments[1];
  return instruction.op == ScalarOp::k_clip && isNumber(low) && low.literal >= 0;
}

bool neverFalls(const ScalarInstruction& instruction) {
  const auto& [first, second, third] = instruction.arguments;
  switch (factsOf(instruction.op).trend) {
    case ScalarTrend::kRises: return true;
    case ScalarTrend::kRisesWithSlope: return isNumber(second) && second.literal >= 0;
    case ScalarTrend::kRisesBetween: return isNumber(second) && isNumber(third) && second.literal <= third.literal;
    case ScalarTrend::kUnknown: return false;
  }
  return false;
}

bool isCheap(const ScalarExpr& expr) {
  return std::all_of(expr.instructions.begin(), expr.instructions.end(),
                     [](const auto& instruction) { return factsOf(instruction.op).cost == ScalarCost::kCheap; });
}

bool isSafeInHalf(const ScalarExpr& expr) {
  return std::all_of(expr.instructions.begin(), expr.instructions.end(),
                     [](const auto& instruction) { return factsOf(instruction.op).half == HalfSafety::kSafe; });
}

}  // namespace tenon::ops
