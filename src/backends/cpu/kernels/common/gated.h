// x * gate(x), as swish is, in expressions of scalars, and behind sums that a library computes.
#pragma once

#include <algorithm>
#include <cstddef>
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

}  // namespace tenon::backends::cpu
