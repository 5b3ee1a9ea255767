// Each column of the table of facts against the operators' references, on many values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>

#include "ops/scalar_facts.h"

namespace tenon::ops {
namespace {

// Operands small and large, of both signs, and the special ones.
std::vector<double> operands() {
  std::mt19937_64 random(1);
  std::vector<double> values{0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 1e-30, -1e-30, 65504, -65504, 1e30, -1e30};
  std::normal_distribution<double> normal;
  for (int i = 0; i < 2000; ++i) values.push_back(normal(random) * std::pow(10.0, i % 7 - 3));
  return values;
}

template <typename Check>
void forEachOperator(Check check) {
  for (size_t i = 0; i < scalarTable().size(); ++i) {
    SCOPED_TRACE(std::string(scalarTable()[i].name));
    check(static_cast<ScalarOp>(i));
  }
}

TEST(ScalarFacts, WhatIsNeverNegativeIsNeverNegative) {
  const auto values = operands();
  forEachOperator([&](ScalarOp op) {
    if (factsOf(op).sign != ScalarSign::kNonNegative) return;
    for (size_t i = 0; i < values.size(); ++i) {
      const double b = values[(i * 7 + 3) % values.size()];
      const double c = values[(i * 13 + 5) % values.size()];
      ASSERT_FALSE(evaluateScalar(op, values[i], b, c) < 0) << values[i] << ", " << b << ", " << c;
    }
  });
}

TEST(ScalarFacts, WhatRisesNeverFalls) {
  auto values = operands();
  std::sort(values.begin(), values.end());
  const auto expectRise = [&](ScalarOp op, double b, double c) {
    for (size_t i = 1; i < values.size(); ++i) {
      const double before = evaluateScalar(op, values[i - 1], b, c);
      const double after = evaluateScalar(op, values[i], b, c);
      ASSERT_FALSE(std::isnan(before) || after < before - 1e-15 * std::abs(before))
          << values[i - 1] << " gives " << before << ", " << values[i] << " gives " << after << " with " << b << ", "
          << c;
    }
  };
  forEachOperator([&](ScalarOp op) {
    ScalarInstruction instruction{op, {ScalarArgument::input(0)}};
    for (const auto& [b, c] : {std::pair(0.0, 0.0), std::pair(0.1, 3.0), std::pair(-2.0, 2.0), std::pair(3.0, -1.0)}) {
      instruction.arguments[1] = ScalarArgument::constant(b);
      instruction.arguments[2] = ScalarArgument::constant(c);
      if (neverFalls(instruction)) expectRise(op, b, c);
    }
  });
}

TEST(ScalarFacts, ConditionsOfTheOtherOperandsCount) {
  const auto with = [](ScalarOp op, ScalarArgument b, ScalarArgument c = {}) {
    return ScalarInstruction{op, {ScalarArgument::input(0), b, c}};
  };
  const auto number = [](double value) { return ScalarArgument::constant(value); };
  EXPECT_TRUE(neverFalls(with(ScalarOp::k_leaky_relu, number(0.1))));
  EXPECT_FALSE(neverFalls(with(ScalarOp::k_leaky_relu, number(-0.1))));
  EXPECT_FALSE(neverFalls(with(ScalarOp::k_leaky_relu, ScalarArgument::input(1))));
  EXPECT_TRUE(neverFalls(with(ScalarOp::k_clip, number(-1), number(1))));
  EXPECT_FALSE(neverFalls(with(ScalarOp::k_clip, number(1), number(-1))));
  EXPECT_TRUE(isNonNegative(with(ScalarOp::k_clip, number(0), number(6))));
  EXPECT_FALSE(isNonNegative(with(ScalarOp::k_clip, number(-1), number(6))));
  EXPECT_FALSE(isNonNegative(with(ScalarOp::k_clip, ScalarArgument::input(1), number(6))));
}

// Neither a function nor a division stands in the row.
TEST(ScalarFacts, WhatIsCheapCallsNothing) {
  forEachOperator([](ScalarOp op) {
    const std::string expression(row(op).expression);
    if (factsOf(op).cost != ScalarCost::kCheap) return;
    EXPECT_FALSE(std::regex_search(expression, std::regex("[A-SU-Za-z0-9_]\\w*\\(|/"))) << expression;
  });
}

TEST(ScalarFacts, WhatIsSafeStaysInTheRangeOfHalves) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> ordinary(-24, 24);
  std::uniform_real_distribution<double> divisor(0.0625, 24);
  forEachOperator([&](ScalarOp op) {
    for (int i = 0; i < 2000 && factsOf(op).half == HalfSafety::kSafe; ++i) {
      const double a = ordinary(random);
      const double b = divisor(random);
      const double result = evaluateScalar(op, a, b, ordinary(random));
      ASSERT_FALSE(std::abs(result) > 65504) << a << ", " << b;
    }
  });
}

TEST(ScalarFacts, OfExpressionsAreThoseOfAllInstructions) {
  EXPECT_TRUE(isCheap(parseScalarExpr("mul(x0,x1);relu(t0)")));
  EXPECT_FALSE(isCheap(parseScalarExpr("mul(x0,x1);exp(t0)")));
  EXPECT_TRUE(isSafeInHalf(parseScalarExpr("mul(x0,x1);tanh(t0)")));
  EXPECT_FALSE(isSafeInHalf(parseScalarExpr("exp(x0);add(t0,x1)")));
}

}  // namespace
}  // namespace tenon::ops
