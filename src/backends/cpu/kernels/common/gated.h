// x * gate(x), as swish is, in expressions of scalars, and behind sums that a library computes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

#include "ops/scalar.h"

namespace tenon::backends::cpu {

// In front of the name of an implementation, in plans and timing caches: it computes sums alone, and own code the gate
// that stands behind them, slice by slice while it is in the caches. oneDNN 2.6 takes twice as long for that.
inline constexpr std::string_view kGated = "gated";

inline bool isGated(std::string_view params) { return params.starts_with(kGated); }
inline std::string_view withoutGate(std::string_view params) {
  if (isGated(params)) params.remove_prefix(kGated.size());
  return params.substr(std::min(params.find_first_not_of(' '), params.size()));
}

// Instruction k where it is a gate(x) that instruction k + 1 multiplies with its x; null elsewhere.
inline const ops::ScalarInstruction* gateAt(const ops::ScalarExpr& expr, size_t k) {
  const auto& instructions = expr.instructions;
  if (k + 1 >= instructions.size() || instructions[k + 1].op != ops::ScalarOp::k_mul) return nullptr;
  const auto& x = instructions[k].arguments[0];
  const auto& factors = instructions[k + 1].arguments;
  const auto gate = ops::ScalarArgument::result(static_cast<int>(k));
  const bool isProduct = (factors[0] == x && factors[1] == gate) || (factors[0] == gate && factors[1] == x);
  return isProduct ? &instructions[k] : nullptr;
}

// Likewise where the expression begins with it, and x is the sum.
inline const ops::ScalarInstruction* leadingGate(const ops::ScalarExpr& expr) {
  const auto* gate = gateAt(expr, 0);
  return gate != nullptr && gate->arguments[0] == ops::ScalarArgument::input(0) ? gate : nullptr;
}

// k where the instruction adds input k > 0 to the running value; -1 elsewhere.
inline int addedInput(const ops::ScalarInstruction& instruction, const ops::ScalarArgument& running) {
  if (instruction.op != ops::ScalarOp::k_add) return -1;
  const auto& arguments = instruction.arguments;
  const auto& other = arguments[0] == running ? arguments[1] : arguments[0];
  const bool reads = arguments[0] == running || arguments[1] == running;
  return reads && other.kind == ops::ScalarArgument::Kind::kInput && other.index > 0 ? other.index : -1;
}

struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// Where the instruction keeps the running value within bounds that are numbers.
inline std::optional<Bounds> boundsOf(const ops::ScalarInstruction& instruction, const ops::ScalarArgument& running) {
  constexpr auto kLiteral = ops::ScalarArgument::Kind::kLiteral;
  const auto& arguments = instruction.arguments;
  const bool runsFirst = arguments[0] == running;
  const auto& other = arguments[runsFirst ? 1 : 0];
  const bool isByNumber = (runsFirst || arguments[1] == running) && other.kind == kLiteral;
  Bounds bounds;
  if (instruction.op == ops::ScalarOp::k_relu && runsFirst) {
    bounds.low = 0;
  } else if (instruction.op == ops::ScalarOp::k_clip && runsFirst && other.kind == kLiteral &&
             arguments[2].kind == kLiteral) {
    bounds = {static_cast<float>(other.literal), static_cast<float>(arguments[2].literal)};
  } else if (instruction.op == ops::ScalarOp::k_max && isByNumber) {
    bounds.low = static_cast<float>(other.literal);
  } else if (instruction.op == ops::ScalarOp::k_min && isByNumber) {
    bounds.high = static_cast<float>(other.literal);
  } else {
    return std::nullopt;
  }
  if (!(bounds.low <= bounds.high)) return std::nullopt;  // NaN too
  return bounds;
}

// Whether behind a leading gate nothing stands but one added matrix and bounds, as TileEpilogue::isGate() has it.
// isMatrix(k): whether input k is a matrix like the result.
template <typename IsMatrix>
bool isGateAlone(const ops::ScalarExpr& expr, IsMatrix isMatrix) {
  const auto& instructions = expr.instructions;
  if (leadingGate(expr) == nullptr) return false;
  size_t at = 2;
  auto running = ops::ScalarArgument::result(1);
  const auto goOn = [&] { running = ops::ScalarArgument::result(static_cast<int>(at++)); };
  if (at < instructions.size() && instructions[at].op == ops::ScalarOp::k_add) {
    const int added = addedInput(instructions[at], running);
    if (added < 0 || !isMatrix(added)) return false;
    goOn();
  }
  while (at < instructions.size() && boundsOf(instructions[at], running)) goOn();
  return at == instructions.size();
}

}  // namespace tenon::backends::cpu
