// Rewrites scalar expressions by the equations of rules/: exact ones, and activation functions as exporters write them.
#pragma once

#include <span>
#include <string_view>

#include "ops/scalar.h"

namespace tenon::passes {

// Both sides over a, b, c, k as written in the table; parsed once. For the optimizer and for the test that tries them.
struct Rule {
  std::string_view text;
  ops::ScalarExpr left, right;  // inputs: a, b, c are x0, x1, x2; k is x3 and matches literals only
};

std::span<const Rule> pointwiseRules();
std::span<const Rule> activationRules();  // hold up to rounding

// The expression after every rule that applies; equal instructions become one and unused ones go.
ops::ScalarExpr simplify(const ops::ScalarExpr& expr);

// The same by the table of activations, for operands of one floating type.
ops::ScalarExpr simplifyActivations(const ops::ScalarExpr& expr, DataType type);

}  // namespace tenon::passes
