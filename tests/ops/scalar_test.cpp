// The table of scalar operators against the standard library, and the algebra of scalar expressions.
#include "ops/scalar.h"

#include <functional>
#include <limits>
#include <map>

#include "core/error.h"
#include "ops/op/pointwise.h"
#include "ops/scalar_program.h"
#include "support.h"

namespace tenon::ops {
namespace {

using Oracle = std::function<double(double, double, double)>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// The whole parts bit by bit, from the sign downwards: the sign counts -2^8, the others what they say.
double byBits(double a, double b, const std::function<bool(bool, bool)>& logic) {
  double x = std::trunc(a) < 0 ? std::trunc(a) + 256 : std::trunc(a);
  double y = std::trunc(b) < 0 ? std::trunc(b) + 256 : std::trunc(b);
  double result = logic(a <= -1, b <= -1) ? -256 : 0;
  for (double bit = 128; bit >= 1; bit /= 2) {
    const bool inX = x >= bit, inY = y >= bit;
    x -= inX ? bit : 0;
    y -= inY ? bit : 0;
    result += logic(inX, inY) ? bit : 0;
  }
  return result;
}
double normalCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// An independent definition of every row.
const std::map<std::string, Oracle, std::less<>>& oracles() {
  static const std::map<std::string, Oracle, std::less<>> table{
      {"identity", [](double a, double, double) { return a; }},
      {"exp", [](double a, double, double) { return std::exp(a); }},
      {"log", [](double a, double, double) { return std::log(a); }},
      {"sqrt", [](double a, double, double) { return std::sqrt(a); }},
      {"rsqrt", [](double a, double, double) { return std::pow(a, -0.5); }},
      {"recip", [](double a, double, double) { return std::pow(a, -1); }},
      {"abs", [](double a, double, double) { return std::fabs(a); }},
      {"neg", [](double a, double, double) { return 0 - a; }},
      {"sin", [](double a, double, double) { return std::sin(a); }},
      {"cos", [](double a, double, double) { return std::cos(a); }},
      {"tan", [](double a, double, double) { return std::sin(a) / std::cos(a); }},
      {"sinh", [](double a, double, double) { return (std::exp(a) - std::exp(-a)) / 2; }},
      {"cosh", [](double a, double, double) { return (std::exp(a) + std::exp(-a)) / 2; }},
      {"tanh", [](double a, double, double) { return 2 * sigmoid(2 * a) - 1; }},
      {"asin", [](double a, double, double) { return std::asin(a); }},
      {"acos", [](double a, double, double) { return std::acos(a); }},
      {"atan", [](double a, double, double) { return std::atan2(a, 1); }},
      {"asinh", [](double a, double, double) { return std::asinh(a); }},
      {"acosh", [](double a, double, double) { return std::acosh(a); }},
      {"atanh", [](double a, double, double) { return std::atanh(a); }},
      {"ceil", [](double a, double, double) { return -std::floor(-a); }},
      {"floor", [](double a, double, double) { return -std::ceil(-a); }},
      {"round", [](double a, double, double) { return a - std::remainder(a, 1); }},
      {"erf", [](double a, double, double) { return 1 - std::erfc(a); }},
      {"sign", [](double a, double, double) { return a == 0 || std::isnan(a) ? a : std::copysign(1, a); }},
      {"isinf", [](double a, double, double) { return static_cast<double>(std::isinf(a)); }},
      {"isnan", [](double a, double, double) { return static_cast<double>(std::isnan(a)); }},
      {"not", [](double a, double, double) { return a == 0 ? 1 : 0; }},
      {"relu", [](double a, double, double) { return std::isnan(a) ? a : std::fmax(a, 0); }},
      {"sigmoid", [](double a, double, double) { return 0.5 * (1 + std::tanh(a / 2)); }},
      {"softplus", [](double a, double, double) { return std::log(1 + std::exp(a)); }},
      {"softsign", [](double a, double, double) { return a / (1 + std::fabs(a)); }},
      {"gelu_erf", [](double a, double, double) { return a * normalCdf(a); }},
      {"gelu_tanh",
       [](double a, double, double) {
         return 0.5 * a * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (a + 0.044715 * std::pow(a, 3))));
       }},
      {"leaky_relu", [](double a, double b, double) { return a < 0 ? a * b : a; }},
      {"elu", [](double a, double b, double) { return a < 0 ? b * (std::exp(a) - 1) : a; }},
      {"thresholded_relu", [](double a, double b, double) { return a > b ? a : 0; }},
      {"selu", [](double a, double b, double c) { return a > 0 ? c * a : c * b * (std::exp(a) - 1); }},
      {"clip", [](double a, double b, double c) { return std::fmin(std::fmax(a, b), std::fmax(b, c)); }},
      {"hard_sigmoid", [](double a, double b, double c) { return std::fmax(0, std::fmin(1, a * b + c)); }},
      {"add", [](double a, double b, double) { return a + b; }},
      {"sub", [](double a, double b, double) { return a - b; }},
      {"mul", [](double a, double b, double) { return a * b; }},
      {"div", [](double a, double b, double) { return a / b; }},
      {"floor_div", [](double a, double b, double) { return std::floor(a / b); }},
      {"mod", [](double a, double b, double) { return a - b * std::floor(a / b); }},
      {"fmod", [](double a, double b, double) { return a - b * std::trunc(a / b); }},
      {"pow", [](double a, double b, double) { return std::pow(a, b); }},
      {"min", [](double a, double b, double) { return a < b ? a : b; }},
      {"max", [](double a, double b, double) { return a > b ? a : b; }},
      {"and", [](double a, double b, double) { return a != 0 ? b != 0 : 0; }},
      {"or", [](double a, double b, double) { return a != 0 ? 1 : b != 0; }},
      {"xor", [](double a, double b, double) { return (a == 0) == (b == 0) ? 0 : 1; }},
      {"equal", [](double a, double b, double) { return a == b; }},
      {"greater", [](double a, double b, double) { return a > b; }},
      {"less", [](double a, double b, double) { return a < b; }},
      {"select", [](double a, double b, double c) { return a != 0 ? b : c; }},
      {"fma", [](double a, double b, double c) { return std::fma(a, b, c); }},
      {"bit_not", [](double a, double, double) { return -std::trunc(a) - 1; }},
      {"bit_and", [](double a, double b, double) { return byBits(a, b, [](bool x, bool y) { return x && y; }); }},
      {"bit_or", [](double a, double b, double) { return byBits(a, b, [](bool x, bool y) { return x || y; }); }},
      {"bit_xor", [](double a, double b, double) { return byBits(a, b, [](bool x, bool y) { return x != y; }); }},
      {"shift_left", [](double a, double b, double) { return b <= -1 ? 0 : std::trunc(a) * std::exp2(std::trunc(b)); }},
      {"shift_right", [](double a, double b,
                         double) { return std::floor(std::trunc(a) * std::exp2(b <= -1 ? -63 : -std::trunc(b))); }},
  };
  return table;
}

TEST(Scalar, EveryRowAgreesWithItsOracle) {
  Rng rng(7);
  for (const auto& r : scalarTable()) {
    if (r.name == "cast") continue;
    const auto oracle = oracles().find(r.name);
    ASSERT_NE(oracle, oracles().end()) << "row " << r.name << " needs an oracle here";
    const auto op = *findScalarOp(r.name);
    for (int i = 0; i < 300; ++i) {
      // Quarters, with zeros; the operands of mod and clip are kept where the oracle is exact.
      const double a = static_cast<double>(pick(rng, -16, 16)) / 4;
      double b = static_cast<double>(pick(rng, -8, 8)) / 4;
      const double c = b + static_cast<double>(pick(rng, 0, 8)) / 4;
      if (b == 0 && (r.name == "mod" || r.name == "fmod")) b = 0.25;
      const double expected = oracle->second(a, b, c);
      expectNear({evaluateScalar(op, a, b, c)}, {expected}, 1e-12, fmt::format("{}({}, {}, {})", r.name, a, b, c));
    }
  }
}

TEST(Scalar, SpecialValues) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(evaluateScalar(ScalarOp::k_relu, nan, 0, 0)));
  EXPECT_TRUE(std::isnan(evaluateScalar(ScalarOp::k_min, nan, 1.0, 0)));
  EXPECT_TRUE(std::isnan(evaluateScalar(ScalarOp::k_max, 1.0, nan, 0)));
  EXPECT_TRUE(std::isnan(evaluateScalar(ScalarOp::k_clip, nan, 0, 1)));
  EXPECT_EQ(evaluateScalar(ScalarOp::k_softplus, 1000.0, 0, 0), 1000.0);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_softplus, -1000.0, 0, 0), 0.0);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_sigmoid, -inf, 0, 0), 0.0);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_isinf, -inf, 0, 0), 1.0);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_round, 2.5, 0, 0), 2.0);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_round, -3.5, 0, 0), -4.0);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_mod, -1.0, 3.0, 0), 2.0);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_fmod, -1.0, 3.0, 0), -1.0);
}

TEST(Scalar, IntegersNeverTrap) {
  const int64_t low = std::numeric_limits<int64_t>::min();
  const int64_t high = std::numeric_limits<int64_t>::max();
  for (size_t op = 0; op < scalarTable().size(); ++op) {
    for (const int64_t a : {low, int64_t{-1}, int64_t{0}, int64_t{1}, high}) {
      for (const int64_t b : {low, int64_t{-1}, int64_t{0}, int64_t{2}, high}) {
        evaluateScalar(static_cast<ScalarOp>(op), a, b, a);  // the sanitizers watch
      }
    }
  }
  EXPECT_EQ(evaluateScalar(ScalarOp::k_add, high, int64_t{1}, int64_t{0}), low);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_neg, low, int64_t{0}, int64_t{0}), low);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_div, low, int64_t{-1}, int64_t{0}), low);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_div, int64_t{5}, int64_t{0}, int64_t{0}), 0);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_ceil, high, int64_t{0}, int64_t{0}), high);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_pow, int64_t{3}, int64_t{39}, int64_t{0}), 4052555153018976267);
  EXPECT_EQ(evaluateScalar(ScalarOp::k_pow, int64_t{-1}, int64_t{-3}, int64_t{0}), -1);
}

TEST(Scalar, IntegerDivisionsAgreeWithTheirDefinition) {
  for (int64_t a = -20; a <= 20; ++a) {
    for (int64_t b = -7; b <= 7; ++b) {
      if (b == 0) continue;
      const auto exact = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_EQ(evaluateScalar(ScalarOp::k_div, a, b, int64_t{0}), static_cast<int64_t>(std::trunc(exact)));
      EXPECT_EQ(evaluateScalar(ScalarOp::k_floor_div, a, b, int64_t{0}), static_cast<int64_t>(std::floor(exact)));
      EXPECT_EQ(evaluateScalar(ScalarOp::k_mod, a, b, int64_t{0}), a - b * static_cast<int64_t>(std::floor(exact)));
      EXPECT_EQ(evaluateScalar(ScalarOp::k_fmod, a, b, int64_t{0}), a - b * static_cast<int64_t>(std::trunc(exact)));
    }
  }
}

TEST(ScalarExpr, TypeRules) {
  const auto type = [](std::string_view expr, std::vector<DataType> inputs) {
    return resultType(parseScalarExpr(expr), inputs);
  };
  EXPECT_EQ(type("", {DataType::kI8}), DataType::kI8);
  EXPECT_EQ(type("add(x0,x1)", {DataType::kF16, DataType::kF16}), DataType::kF16);
  EXPECT_EQ(type("add(x0,1)", {DataType::kI32}), DataType::kI32);
  EXPECT_EQ(type("less(x0,x1)", {DataType::kI32, DataType::kI32}), DataType::kBool);
  EXPECT_EQ(type("select(x0,x1,2)", {DataType::kBool, DataType::kI64}), DataType::kI64);
  EXPECT_EQ(type("select(x0,1,2)", {DataType::kBool}), DataType::kF32);
  EXPECT_EQ(type("cast.bf16(x0)", {DataType::kI32}), DataType::kBF16);
  EXPECT_THROW(type("add(x0,x1)", {DataType::kF16, DataType::kF32}), UserError);
  EXPECT_THROW(type("add(x0,x1)", {DataType::kF16}), UserError);
  EXPECT_THROW(type("", {}), UserError);
}

// A random valid expression over so many inputs.
ScalarExpr randomExpr(Rng& rng, int inputs, int64_t length) {
  static const std::vector<ScalarOp> ops{ScalarOp::k_add, ScalarOp::k_mul, ScalarOp::k_sub, ScalarOp::k_relu,
                                         ScalarOp::k_max, ScalarOp::k_fma, ScalarOp::k_neg, ScalarOp::k_abs};
  ScalarExpr expr;
  for (int64_t i = 0; i < length; ++i) {
    ScalarInstruction instruction;
    instruction.op = pickOf(rng, ops);
    for (int k = 0; k < row(instruction.op).arity; ++k) {
      auto& argument = instruction.arguments[static_cast<size_t>(k)];
      const int64_t kind = pick(rng, 0, 3);
      if (kind == 0) {
        argument = ScalarArgument::constant(static_cast<double>(pick(rng, -8, 8)) / 4);
      } else if (kind == 1 && i > 0) {
        argument = ScalarArgument::result(static_cast<int>(pick(rng, 0, i - 1)));
      } else {
        argument = ScalarArgument::input(static_cast<int>(pick(rng, 0, inputs - 1)));
      }
    }
    expr.instructions.push_back(instruction);
  }
  return expr;
}

double value(const ScalarExpr& expr, const std::vector<double>& inputs) {
  std::vector<DataType> types(inputs.size(), DataType::kF32);
  std::vector<Number> values;
  for (const double input : inputs) values.push_back(Number::ofReal(input, DataType::kF32));
  return ScalarProgram(expr, types)(values).real;
}

TEST(ScalarExpr, TextReadsBack) {
  Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    const auto expr = randomExpr(rng, 3, pick(rng, 0, 6));
    EXPECT_EQ(parseScalarExpr(text(expr)), expr) << text(expr);
  }
  for (const auto* source :
       {"cast.f8e4m3(x0)", "add(x0,inf);mul(t0,-inf)", "max(x0,nan)", "mul(x0,-0)", "add(x0,1e-300)"}) {
    EXPECT_EQ(parseScalarExpr(text(parseScalarExpr(source))), parseScalarExpr(source)) << source;
  }
}

TEST(ScalarExpr, BadTextIsRefused) {
  for (const auto* source : {"foo(x0)", "add(x0)", "add(x0,x1", "add(x0,t0)", "add(x0,x1) relu(t0)", "cast.f64(x0)",
                             "relu(x256)", "relu(x-1)", "relu.i8(x0)", "relu(t1)", ";"}) {
    EXPECT_THROW(parseScalarExpr(source), UserError) << source;
  }
  std::string longText = "relu(x0)";
  for (int i = 0; i < 300; ++i) longText += ";relu(x0)";
  EXPECT_THROW(parseScalarExpr(longText), UserError);
}

TEST(ScalarExpr, CompositionIsSubstitution) {
  Rng rng(5);
  for (int i = 0; i < 1000; ++i) {
    const auto outer = randomExpr(rng, 3, pick(rng, 0, 4));
    const auto inner = randomExpr(rng, 3, pick(rng, 0, 4));
    const int input = static_cast<int>(pick(rng, 0, 2));
    const std::vector<double> inputs{0.5, -1.25, 2};
    auto replaced = inputs;
    replaced[static_cast<size_t>(input)] = value(inner, inputs);
    EXPECT_EQ(value(outer.compose(input, inner), inputs), value(outer, replaced))
        << text(outer) << " with x" << input << " = " << text(inner);
  }
}

TEST(ScalarExpr, RenumberingInputs) {
  Rng rng(6);
  const std::vector<int> map{2, 0, 1};
  for (int i = 0; i < 300; ++i) {
    const auto expr = randomExpr(rng, 3, pick(rng, 0, 4));
    EXPECT_EQ(value(expr.withInputs(map), {10, 20, 30}), value(expr, {30, 10, 20})) << text(expr);
  }
}

TEST(Pointwise, BroadcastsAndComputes) {
  const Pointwise op{parseScalarExpr("mul(x0,x1);add(t0,0.5)")};
  const auto out = run1(op, tensor({2, 1}, {1, 2}), tensor({3}, {10, 20, 30}));
  EXPECT_EQ(out.view().dims, (Dims{2, 3}));
  EXPECT_EQ(numbers(out), (std::vector<double>{10.5, 20.5, 30.5, 20.5, 40.5, 60.5}));
}

TEST(Pointwise, EmptyAndScalarInputs) {
  EXPECT_EQ(run1(Pointwise{parseScalarExpr("relu(x0)")}, tensor({0, 3}, {})).view().count(), 0);
  EXPECT_EQ(numbers(run1(Pointwise{parseScalarExpr("add(x0,x1)")}, tensor({}, {1}), tensor({}, {2}))),
            (std::vector<double>{3}));
  EXPECT_EQ(numbers(run1(Pointwise{}, tensor({2}, {1, 2}))), (std::vector<double>{1, 2}));
}

TEST(Pointwise, MixedClasses) {
  const auto condition = [] { return tensor({2}, {1, 0}, DataType::kBool); };
  EXPECT_EQ(numbers(run1(Pointwise{parseScalarExpr("select(x0,0.5,1.5)")}, condition())),
            (std::vector<double>{0.5, 1.5}));
  EXPECT_EQ(numbers(run1(Pointwise{parseScalarExpr("cast.f32(0.5);select(x0,t0,2.5)")}, condition())),
            (std::vector<double>{0.5, 2.5}));
  EXPECT_EQ(numbers(run1(Pointwise{parseScalarExpr("cast.i8(x0)")}, tensor({3}, {-1.9, 200, 3}))),
            (std::vector<double>{-1, 127, 3}));
  EXPECT_EQ(numbers(run1(Pointwise{parseScalarExpr("cast.f16(x0);cast.f32(t0)")}, tensor({1}, {2049}))),
            (std::vector<double>{2048}));
  EXPECT_EQ(numbers(run1(Pointwise{parseScalarExpr("less(x0,0);not(t0)")}, tensor({2}, {-1, 1}))),
            (std::vector<double>{0, 1}));
}

TEST(Pointwise, FollowsContents) {
  const Extent n = Extent::symbol("N");
  const TensorType shape{DataType::kI64, {2}, std::vector<Extent>{n, 6}};
  const auto contents = [&](std::string_view expr) {
    return *inferOf(Pointwise{parseScalarExpr(expr)}, {shape})[0].contents;
  };
  EXPECT_EQ(contents("mul(x0,2);add(t0,1)"), (std::vector<Extent>{n * 2 + 1, 13}));
  EXPECT_EQ(contents("floor_div(x0,2)"), (std::vector<Extent>{floorDiv(n, 2), 3}));
  EXPECT_EQ(contents("mod(x0,4)"), (std::vector<Extent>{n - floorDiv(n, 4) * 4, 2}));
  EXPECT_EQ(contents("cast.i32(x0)"), (std::vector<Extent>{n, 6}));
  EXPECT_EQ(contents("cast.bool(x0)"), (std::vector<Extent>{Extent(1) - equal(n, 0), 1}));
  EXPECT_EQ(contents("equal(x0,0);select(t0,1,x0)"),
            (std::vector<Extent>{equal(n, 0) + (Extent(1) - equal(n, 0)) * n, 6}));
  EXPECT_EQ(contents("cast.f32(x0)"), (std::vector<Extent>{n, 6}));
  EXPECT_FALSE(inferOf(Pointwise{parseScalarExpr("cast.f16(x0)")}, {shape})[0].contents);
  EXPECT_FALSE(inferOf(Pointwise{parseScalarExpr("cast.i8(x0)")}, {shape})[0].contents);
  EXPECT_EQ(contents("min(x0,inf)")[1], Extent(6));
}

TEST(Pointwise, RefusesWhatDoesNotFit) {
  const Pointwise op{parseScalarExpr("add(x0,x1)")};
  EXPECT_THROW(inferOf(op, {typed({2}), typed({3})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({2})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({2}), typed({2}, DataType::kI32)}), UserError);
}

}  // namespace
}  // namespace tenon::ops
