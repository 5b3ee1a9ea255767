// Every equation of the rewrite table, left side against right side, on special and random values of each type.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/error.h"
#include "ops/op/pointwise.h"
#include "passes/rewrite.h"

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
      tensor.view().storeDouble(i, std::ldexp(static_cast<double>(generator() >> 11) * 0x1p-53 - 0.5, static_cast<int>(generator() % 24)));
    } else {
      tensor.view().storeInt(i, type == DataType::kBool ? static_cast<int64_t>(generator() % 2) : static_cast<int64_t>(generator()) >> (generator() % 63));
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
    ADD_FAILURE() << rule.text << " for " << name(type) << ": a=" << views[0].loadDouble(i) << " b="
                  << (count > 1 ? views[1].loadDouble(i) : 0) << " gives " << a.view().loadDouble(i) << " and "
                  << b.view().loadDouble(i);
    break;
  }
  return true;
}

TEST(Rules, BothSidesAgreeOnEveryValue) {
  ASSERT_FALSE(pointwiseRules().empty());
  for (const auto& rule : pointwiseRules()) {
    int types = 0;
    for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI32, DataType::kI64, DataType::kI8,
                            DataType::kU8, DataType::kBool}) {
      types += compare(rule, type) ? 1 : 0;
    }
    EXPECT_GT(types, 0) << rule.text << " was tried on no type";
  }
}

TEST(Rules, SimplifyReachesAFixedPoint) {
  for (const char* source : {"neg(x0);neg(t0);add(t1,x1)", "mul(x0,1);add(t0,x1);relu(t1);relu(t2)", "neg(x1);add(x0,t0)",
                             "exp(x0);exp(x0);add(t0,t1)", "max(x0,x1);max(t0,x1);identity(t1)"}) {
    const auto once = simplify(ops::parseScalarExpr(source));
    EXPECT_EQ(once, simplify(once)) << source;
    EXPECT_LT(once.instructions.size(), ops::parseScalarExpr(source).instructions.size()) << source;
  }
  EXPECT_EQ(ops::text(simplify(ops::parseScalarExpr("neg(x1);add(x0,t0)"))), "sub(x0,x1)");
}

}  // namespace
}  // namespace tenon::passes
