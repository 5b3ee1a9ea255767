// What is followed through shape arithmetic, against plain evaluation of the same steps on numbers.
#include "ops/shape_arithmetic.h"

#include <cmath>

#include "core/error.h"
#include "ops/fraction.h"
#include "ops/op/pointwise.h"
#include "support.h"

namespace tenon::ops {
namespace {

const Extent kN = Extent::symbol("N");     // an extent: never negative
const Extent kX = Extent::symbol("x[0]");  // an element of a shape tensor: any integer

std::optional<Extent> follow(std::string_view expr, const std::vector<Extent>& inputs, DataType type = DataType::kI64) {
  return followScalar(parseScalarExpr(expr), inputs, std::vector<DataType>(inputs.size(), type));
}

// One step on numbers, as C++ computes it in the step's type.
double step(ScalarOp op, double a, double b, double c, bool isFloat) {
  const auto x = static_cast<int64_t>(a);
  const auto y = static_cast<int64_t>(b);
  const auto floorOf = [&] { return std::floor(static_cast<long double>(x) / static_cast<long double>(y)); };
  switch (op) {
    case ScalarOp::k_add: return isFloat ? static_cast<float>(a) + static_cast<float>(b) : a + b;
    case ScalarOp::k_sub: return isFloat ? static_cast<float>(a) - static_cast<float>(b) : a - b;
    case ScalarOp::k_mul: return isFloat ? static_cast<float>(a) * static_cast<float>(b) : a * b;
    case ScalarOp::k_div: return isFloat ? static_cast<float>(a) / static_cast<float>(b) : static_cast<double>(x / y);
    case ScalarOp::k_floor_div:
      return isFloat ? std::floor(static_cast<float>(a) / static_cast<float>(b)) : static_cast<double>(floorOf());
    case ScalarOp::k_mod: return a - static_cast<double>(floorOf()) * b;
    case ScalarOp::k_fmod: return static_cast<double>(x % y);
    case ScalarOp::k_neg: return -a;
    case ScalarOp::k_abs: return std::abs(a);
    case ScalarOp::k_sign: return a > 0 ? 1 : a < 0 ? -1 : 0;
    case ScalarOp::k_relu: return std::max(a, 0.0);
    case ScalarOp::k_floor: return std::floor(a);
    case ScalarOp::k_ceil: return std::ceil(a);
    case ScalarOp::k_min: return std::min(a, b);
    case ScalarOp::k_max: return std::max(a, b);
    case ScalarOp::k_clip: return a < b ? b : std::min(a, c);
    default: break;
  }
  ADD_FAILURE() << row(op).name;
  return 0;
}

bool divides(ScalarOp op) {
  return op == ScalarOp::k_div || op == ScalarOp::k_floor_div || op == ScalarOp::k_mod || op == ScalarOp::k_fmod;
}

TEST(ShapeArithmetic, RandomIntegerStepsAreExact) {
  const std::vector<ScalarOp> ops{ScalarOp::k_add,       ScalarOp::k_sub,  ScalarOp::k_mul,   ScalarOp::k_div,
                                  ScalarOp::k_floor_div, ScalarOp::k_mod,  ScalarOp::k_fmod,  ScalarOp::k_neg,
                                  ScalarOp::k_abs,       ScalarOp::k_sign, ScalarOp::k_relu,  ScalarOp::k_min,
                                  ScalarOp::k_max,       ScalarOp::k_clip, ScalarOp::k_floor, ScalarOp::k_ceil};
  int compared = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    Rng rng(seed);
    const SymbolValues symbols{{"N", pick(rng, 0, 40)}, {"x[0]", pick(rng, -40, 40)}};
    const std::vector<Extent> inputs{kN, kX};
    ScalarExpr expr;
    std::vector<double> values;
    bool isDefined = true;
    for (int i = 0; i < 4 && isDefined; ++i) {
      ScalarInstruction instruction;
      instruction.op = pickOf(rng, ops);
      std::array<double, 3> numbers{};
      for (int k = 0; k < row(instruction.op).arity; ++k) {
        const auto at = static_cast<size_t>(k);
        const int64_t kind = pick(rng, 0, 2);
        if (kind == 0 || (k == 0 && (kind == 2 || values.empty()))) {  // literals alone would have no type
          const auto index = static_cast<int>(pick(rng, 0, 1));
          instruction.arguments[at] = ScalarArgument::input(index);
          numbers[at] = static_cast<double>(symbols.at(index == 0 ? "N" : "x[0]"));
        } else if (kind == 1 && !values.empty()) {
          const auto index = static_cast<int>(pick(rng, 0, static_cast<int64_t>(values.size()) - 1));
          instruction.arguments[at] = ScalarArgument::result(index);
          numbers[at] = values[static_cast<size_t>(index)];
        } else {
          int64_t literal = pick(rng, -7, 7);
          if (divides(instruction.op) && literal == 0) literal = -3;
          instruction.arguments[at] = ScalarArgument::constant(static_cast<double>(literal));
          numbers[at] = static_cast<double>(literal);
        }
      }
      isDefined = !divides(instruction.op) || numbers[1] != 0;
      if (!isDefined) break;
      values.push_back(step(instruction.op, numbers[0], numbers[1], numbers[2], false));
      expr.instructions.push_back(instruction);
    }
    if (!isDefined || expr.empty()) continue;
    try {
      const auto result = followScalar(expr, inputs, std::vector<DataType>(2, DataType::kI64));
      ASSERT_TRUE(result.has_value()) << text(expr);
      EXPECT_EQ(static_cast<double>(result->evaluate(symbols)), values.back())
          << text(expr) << " is " << result->text() << " seed " << seed << " N " << symbols.at("N") << " x "
          << symbols.at("x[0]");
      ++compared;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("by 0"), std::string::npos)
          << error.what();  // of a divisor that simplifies to 0
    }
  }
  EXPECT_GT(compared, 4000);
}

// Chains as exporters write them: through f32 and back. The same steps in f32 give the same integers.
TEST(ShapeArithmetic, FloatingChainsGiveTheIntegersOfFloatingPoint) {
  const std::vector<double> divisors{2, 3, 7, 10, 0.5, 0.25, 1.5, -2, -3, -0.5, 32};
  int followed = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    Rng rng(seed);
    const int64_t x = pick(rng, 0, 3) == 0 ? pick(rng, -1000, 1000) : pick(rng, -200, 200);
    auto expr = std::string("cast.f32(x0)");
    auto value = static_cast<double>(static_cast<float>(x));
    const auto length = static_cast<int>(pick(rng, 1, 4));
    for (int i = 0; i < length; ++i) {
      const double operand = pickOf(rng, divisors);
      const std::vector<std::pair<ScalarOp, bool>> steps{
          {ScalarOp::k_div, true},       {ScalarOp::k_mul, true}, {ScalarOp::k_neg, false}, {ScalarOp::k_floor, false},
          {ScalarOp::k_ceil, false},     {ScalarOp::k_add, true}, {ScalarOp::k_sub, true},  {ScalarOp::k_abs, false},
          {ScalarOp::k_floor_div, true}, {ScalarOp::k_max, true}, {ScalarOp::k_min, true}};
      const auto& [op, takesTwo] = pickOf(rng, steps);
      expr += fmt::format(";{}(t{}{})", row(op).name, i, takesTwo ? fmt::format(",{}", operand) : "");
      value = step(op, value, operand, 0, true);
    }
    const bool up = pick(rng, 0, 1) == 1;
    expr += fmt::format(";{}(t{});cast.i64(t{})", up ? "ceil" : "floor", length, length + 1);
    const auto result = follow(expr, {kX});
    if (!result) continue;
    ++followed;
    const auto expected = static_cast<int64_t>(up ? std::ceil(value) : std::floor(value));
    EXPECT_EQ(result->evaluate({{"x[0]", x}}), expected)
        << expr << " is " << result->text() << " x " << x << " seed " << seed;
  }
  EXPECT_GT(followed, 4000);
}

TEST(ShapeArithmetic, KnownForms) {
  // -floor(-x / step), in integers and through floating point: both are a division rounded up.
  EXPECT_EQ(*follow("neg(x0);floor_div(t0,16);neg(t1)", {kN}), ceilDiv(kN, 16));
  EXPECT_EQ(*follow("cast.f32(x0);neg(t0);div(t1,16);floor(t2);neg(t3);cast.i64(t4)", {kN}), ceilDiv(kN, 16));
  EXPECT_EQ(*follow("cast.f32(x0);div(t0,3);ceil(t1);cast.i64(t2)", {kN}), ceilDiv(kN, 3));
  EXPECT_EQ(*follow("floor_div(x0,-16);neg(t0)", {kN}), ceilDiv(kN, 16));
  EXPECT_EQ(*follow("div(x0,2)", {kN}), floorDiv(kN, 2));
  EXPECT_EQ(*follow("div(x0,-2)", {kN}), Extent(0) - floorDiv(kN, 2));
  EXPECT_EQ(*follow("abs(x0)", {kN}), kN);
  EXPECT_EQ(*follow("neg(x0);div(t0,3);neg(t1)", {kN}), floorDiv(kN, 3));
  EXPECT_EQ(*follow("less(x0,0)", {kN}), Extent(0));
  EXPECT_EQ(*follow("less(x0,0)", {kX}), less(kX, 0));
  EXPECT_EQ(*follow("add(x0,1);equal(t0,0)", {kN}), Extent(0));
  // A quotient that is corrected where signs differ, as PyTorch writes a // b.
  EXPECT_EQ(
      *follow(
          "div(x0,16);mul(t0,16);sub(x0,t1);equal(t2,0);not(t3);less(x0,0);xor(t5,0);and(t4,t6);cast.i64(t7);sub(t0,t8)",
          {kN}),
      floorDiv(kN, 16));
  EXPECT_EQ(*follow("cast.f32(x0);mul(t0,0.5);cast.i32(t1)", {kN}), floorDiv(kN, 2));
  EXPECT_EQ(*follow("cast.f32(x0);mul(t0,2);cast.i64(t1)", {kN}), kN * 2);
  // The parts of a chain may be tensors of their own.
  const auto half = follow("cast.f32(x0);div(t0,2)", {kN});
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(*follow("add(x0,0.5);floor(t0);cast.i64(t1)", {*half}, DataType::kF32), floorDiv(kN + 1, 2));
  EXPECT_EQ(*follow("mul(x0,2);cast.i64(t0)", {*half}, DataType::kF32), kN);
}

TEST(ShapeArithmetic, WhatMightRoundIsNotFollowed) {
  EXPECT_FALSE(follow("cast.f32(x0);mul(t0,0.1);floor(t1);cast.i64(t2)", {kN}));  // 0.1 is no short fraction
  EXPECT_FALSE(
      follow("cast.f32(x0);div(t0,3);mul(t1,3);floor(t2);cast.i64(t3)", {kN}));  // may come out below the integer
  EXPECT_FALSE(follow("cast.f32(x0);div(t0,3);div(t1,7);floor(t2);cast.i64(t3)", {kN}));
  EXPECT_FALSE(follow("cast.f16(x0);cast.f32(t0);floor(t1);cast.i64(t2)", {kN}));
  EXPECT_FALSE(follow("cast.f32(x0);sqrt(t0);cast.i64(t1)", {kN}));
  EXPECT_FALSE(follow("cast.f32(x0);div(t0,0);cast.i64(t1)", {kN}));
  EXPECT_FALSE(follow("cast.f32(x0);div(t0,inf);cast.i64(t1)", {kN}));
  EXPECT_FALSE(follow("cast.f32(x0);add(t0,nan);cast.i64(t1)", {kN}));
  EXPECT_FALSE(follow("cast.f32(x0);div(t0,2)", {Extent::symbol("1/2")}));  // named like a part of a fraction
}

TEST(ShapeArithmetic, DenominatorsDoNotGrowWithoutEnd) {
  auto value = *follow("cast.f32(x0)", {kN});
  std::optional<Extent> next = value;
  int steps = 0;
  for (; next && steps < 100; ++steps) {
    value = *next;
    next = follow("mul(x0,0.0009765625)", {value}, DataType::kF32);
  }
  EXPECT_LT(steps, 5);
  EXPECT_EQ(reduced(std::numeric_limits<int64_t>::min(), 6).denominator, 3);
}

TEST(ShapeArithmetic, ADivisionByZeroIsRefused) {
  for (const auto* op : {"div", "floor_div", "mod", "fmod"}) {
    try {
      follow(fmt::format("{}(x0,0)", op), {kN + 3});
      ADD_FAILURE() << op;
    } catch (const UserError& error) {
      EXPECT_STREQ(error.what(), "the shape computation divides N+3 by 0; the divisor must not be zero");
    }
    const auto byInput = follow(fmt::format("{}(x0,x1)", op), {kN, kX});
    ASSERT_TRUE(byInput.has_value());
    EXPECT_THROW(byInput->evaluate({{"N", 5}, {"x[0]", 0}}), UserError) << op;
  }
}

TEST(ShapeArithmetic, FractionsAreReadBackFromContents) {
  EXPECT_EQ(toContents({kN * 3 + 1, 1}), kN * 3 + 1);
  const auto back = fromContents(toContents({kN * 3 + 1, 7}));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->numerator, kN * 3 + 1);
  EXPECT_EQ(back->denominator, 7);
  EXPECT_EQ(fractionOf(-2.75)->numerator, Extent(-11));
  EXPECT_EQ(fractionOf(-2.75)->denominator, 4);
  EXPECT_FALSE(fractionOf(0.1));
  EXPECT_FALSE(fractionOf(INFINITY));
  EXPECT_FALSE(fractionOf(NAN));
  EXPECT_FALSE(fractionOf(1e300));
  EXPECT_FALSE(fromContents(toContents({kN, 2}) + toContents({kN, 3})));
  EXPECT_FALSE(fromContents(toContents({kN, 2}) + 1));
}

TEST(ShapeArithmetic, ContentsOfSmallFloatingTensorsPassThroughNodes) {
  const TensorType shape{DataType::kI64, {2}, std::vector<Extent>{kN, 6}};
  const auto floats = Operator(Pointwise{parseScalarExpr("cast.f32(x0);div(t0,4)")}).infer("t", std::vector{shape})[0];
  ASSERT_TRUE(floats.contents.has_value());
  const auto back = Operator(Pointwise{parseScalarExpr("ceil(x0);cast.i64(t0)")}).infer("t", std::vector{floats})[0];
  EXPECT_EQ(*back.contents, (std::vector<Extent>{ceilDiv(kN, 4), 2}));
  const TensorType large{DataType::kI64, {17}, std::vector<Extent>(17, kN)};
  EXPECT_FALSE(Operator(Pointwise{parseScalarExpr("cast.f32(x0)")}).infer("t", std::vector{large})[0].contents);
}

}  // namespace
}  // namespace tenon::ops
