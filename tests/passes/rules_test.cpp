// Every equation of the rewrite table, left side against right side, on special and random values of each type.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/error.h"
#include "ops/op/pointwise.h"
#include "ops/scalar_program.h"
#include "passes/common/scalar_rules.h"

namespace tenon::passes {
namespace {

constexpr int kCount = 4096;

std::vector<double> specials(DataType type) {
  if (type == DataType::kBool) return {0, 1};
  if (isFloating(type)) {
    const double inf = std::numeric_limits<double>::infinity();
    return {0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, inf, -inf, std::nan(""), 65504, -65504, 6e-8, -6e-8, 3e38, -3e38};
  }
  return {0, 1, -1, 2, 127, -128, 255, 2147483647.0, -2147483648.0};
}

HostTensor operand(DataType type, int stride, uint64_t seed) {
  HostTensor tensor(type, {kCount});
  const auto values = specials(type);
  std::mt19937_64 generator(seed);
  const auto pairs = static_cast<int>(values.size() * values.size());
  for (int i = 0; i < kCount; ++i) {
    if (i < pairs) {
      tensor.view().storeDouble(i, values[static_cast<size_t>(i / stride) % values.size()]);
    } else if (isFloating(type)) {
      tensor.view().storeDouble(
          i, std::ldexp(static_cast<double>(generator() >> 11) * 0x1p-53 - 0.5, static_cast<int>(generator() % 24)));
    } else {
      tensor.view().storeInt(i, type == DataType::kBool ? static_cast<int64_t>(generator() % 2)
                                                        : static_cast<int64_t>(generator()) >> (generator() % 63));
    }
  }
  return tensor;
}

bool sameValue(const TensorView& a, const TensorView& b, int64_t i) {
  if (!isFloating(a.dtype)) return a.loadInt(i) == b.loadInt(i);
  const double x = a.loadDouble(i);
  const double y = b.loadDouble(i);
  if (std::isnan(x) && std::isnan(y)) return true;
  return x == y && std::signbit(x) == std::signbit(y);
}

// Whether the table lets the type through on both sides; compares them then.
bool compare(const Rule& rule, DataType type) {
  const int count = std::max(rule.left.inputCount(), rule.right.inputCount());
  const ops::Operator left = ops::Pointwise{rule.left};
  const ops::Operator right = ops::Pointwise{rule.right};
  // A condition in front of select is a truth value, whatever the branches are.
  const bool selects = rule.text.substr(0, 6) == "select";
  std::vector<HostTensor> tensors;
  std::vector<TensorView> views;
  std::vector<ops::TensorType> types;
  const auto base = static_cast<int>(specials(type).size());
  for (int i = 0; i < count; ++i) {
    const auto own = selects && i == 0 ? DataType::kBool : type;
    tensors.push_back(operand(own, i == 0 ? 1 : base, static_cast<uint64_t>(i) + 1));
    views.push_back(tensors.back().view());
    types.push_back({own, Shape{kCount}, std::nullopt});
  }
  std::vector<ops::TensorType> out;
  try {
    out = left.infer("left", types);
    if (right.infer("right", types)[0].dtype != out[0].dtype) return false;  // the pass leaves such a node alone
  } catch (const UserError&) {
    return false;
  }
  const HostTensor a(out[0].dtype, {kCount});
  const HostTensor b(out[0].dtype, {kCount});
  const std::vector<TensorView> outA{a.view()};
  const std::vector<TensorView> outB{b.view()};
  const SymbolValues symbols;
  left.evaluate({views, outA, &symbols});
  right.evaluate({views, outB, &symbols});
  for (int64_t i = 0; i < kCount; ++i) {
    if (sameValue(a.view(), b.view(), i)) continue;
    ADD_FAILURE() << rule.text << " for " << name(type) << ": a=" << views[0].loadDouble(i)
                  << " b=" << (count > 1 ? views[1].loadDouble(i) : 0) << " gives " << a.view().loadDouble(i) << " and "
                  << b.view().loadDouble(i);
    break;
  }
  return true;
}

TEST(Rules, BothSidesAgreeOnEveryValue) {
  ASSERT_FALSE(pointwiseRules().empty());
  for (const auto& rule : pointwiseRules()) {
    int types = 0;
    for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI32, DataType::kI64,
                            DataType::kI8, DataType::kU8, DataType::kBool}) {
      types += compare(rule, type) ? 1 : 0;
    }
    EXPECT_GT(types, 0) << rule.text << " was tried on no type";
  }
}

// Activation functions: both sides are one function, computed in double here, so they agree to many digits.
TEST(Rules, BothSidesOfActivationsAgree) {
  ASSERT_FALSE(activationRules().empty());
  for (const auto& rule : activationRules()) {
    ops::ScalarProgram left(rule.left, std::vector<DataType>(4, DataType::kF32));
    ops::ScalarProgram right(rule.right, std::vector<DataType>(4, DataType::kF32));
    std::mt19937_64 generator(7);
    for (int i = 0; i < 20000; ++i) {
      const double range = i % 3 == 0 ? 1e-3 : i % 3 == 1 ? 4 : 40;
      const double x = i == 0 ? 0 : range * (static_cast<double>(generator() >> 11) * 0x1p-52 - 1);
      const std::vector<ops::Number> inputs(4, ops::Number::ofReal(x, DataType::kF32));
      const double a = left(inputs).real;
      const double b = right(inputs).real;
      if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
      ASSERT_LE(std::abs(a - b), 1e-9 * (std::abs(a) + std::abs(x)) + 1e-12) << rule.text << " at " << x;
    }
  }
}

// As exporters write them, with constants rounded to the type of the network and products in any order.
TEST(Rules, ActivationsAreRecognised) {
  const auto recognised = [](const char* source, DataType type = DataType::kF32) {
    return ops::text(simplifyActivations(simplify(ops::parseScalarExpr(source)), type));
  };
  EXPECT_EQ(recognised("div(x0,1.4142135381698608);erf(t0);add(t1,1);mul(x0,t2);mul(t3,0.5)"), "gelu_erf(x0)");
  EXPECT_EQ(recognised("mul(x0,0.5);div(x0,1.4142135381698608);erf(t1);add(1,t2);mul(t0,t3)"), "gelu_erf(x0)");
  EXPECT_EQ(recognised("mul(0.70710677,x0);erf(t0);add(t1,1);mul(0.5,t2);mul(t3,x0)"), "gelu_erf(x0)");
  EXPECT_EQ(
      recognised(
          "pow(x0,3);mul(t0,0.044714998);add(x0,t1);mul(t2,0.79788458);tanh(t3);add(t4,1);mul(x0,0.5);mul(t6,t5)"),
      "gelu_tanh(x0)");
  EXPECT_EQ(
      recognised(
          "mul(x0,x0);mul(x0,t0);mul(0.044714998,t1);add(x0,t2);mul(0.79788458,t3);tanh(t4);add(1,t5);mul(x0,t6);mul(0.5,t7)"),
      "gelu_tanh(x0)");
  EXPECT_EQ(
      recognised(
          "mul(x0,0.79785);mul(x0,0.04471);mul(t1,x0);add(t2,1);mul(t0,t3);tanh(t4);add(t5,1);mul(x0,0.5);mul(t7,t6)",
          DataType::kF16),
      "gelu_tanh(x0)");
  EXPECT_EQ(recognised("add(x0,3);clip(t0,0,6);div(t1,6);mul(x0,t2)"),
            "hard_sigmoid(x0,0.16666666666666666,0.5);mul(x0,t0)");
  EXPECT_EQ(recognised("neg(x0);exp(t0);add(t1,1);div(x0,t2)"), "sigmoid(x0);mul(x0,t0)");
  EXPECT_EQ(recognised("sqrt(x0);div(1,t0)"), "rsqrt(x0)");
  // A constant that is another number stays.
  EXPECT_NE(recognised("div(x0,1.5);erf(t0);add(t1,1);mul(x0,t2);mul(t3,0.5)"), "gelu_erf(x0)");
  EXPECT_NE(
      recognised(
          "mul(x0,0.79785);mul(x0,0.04471);mul(t1,x0);add(t2,1);mul(t0,t3);tanh(t4);add(t5,1);mul(x0,0.5);mul(t7,t6)"),
      "gelu_tanh(x0)");
}

TEST(Rules, SimplifyReachesAFixedPoint) {
  for (const char* source :
       {"neg(x0);neg(t0);add(t1,x1)", "mul(x0,1);add(t0,x1);relu(t1);relu(t2)", "neg(x1);add(x0,t0)",
        "exp(x0);exp(x0);add(t0,t1)", "max(x0,x1);max(t0,x1);identity(t1)"}) {
    const auto once = simplify(ops::parseScalarExpr(source));
    EXPECT_EQ(once, simplify(once)) << source;
    EXPECT_LT(once.instructions.size(), ops::parseScalarExpr(source).instructions.size()) << source;
  }
  EXPECT_EQ(ops::text(simplify(ops::parseScalarExpr("neg(x1);add(x0,t0)"))), "sub(x0,x1)");
}

}  // namespace
}  // namespace tenon::passes
