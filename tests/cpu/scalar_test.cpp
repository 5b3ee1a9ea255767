// Vector forms of the scalar operators against their rows, over ordinary and special values.
#include <cmath>
#include <limits>
#include <random>

#include "backends/cpu/kernels/simd/pointwise_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

using backends::cpu::gatedFunction;
using backends::cpu::kLanes;
using backends::cpu::vectorFunction;
using ops::ScalarOp;

std::vector<float> values() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> result{0.f,    -0.f,   1.f,  -1.f,  kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                            86.9f,  -86.9f, 88.f, -88.f, 103.f,     -103.f,     1e-7f,
                            -1e-7f, 4.f,    -4.f, 1e4f,  -1e4f};
  std::mt19937 random(5);
  for (const float scale : {1e-3f, 0.1f, 1.f, 5.f, 40.f}) {
    std::normal_distribution<float> draw(0.f, scale);
    for (int i = 0; i < 500; ++i) result.push_back(draw(random));
  }
  result.resize((result.size() + kLanes - 1) / kLanes * kLanes, 0.5f);
  return result;
}

// `scale`: what the rounding of the steps before stands for.
void expectNear(float got, double expected, double scale, const std::string& where) {
  constexpr double kTolerance = 2e-6;
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << where << " gave " << got;
  } else if (std::isinf(static_cast<float>(expected))) {
    EXPECT_EQ(got, static_cast<float>(expected)) << where;
  } else {
    EXPECT_NEAR(got, expected, kTolerance * (std::abs(expected) + scale)) << where;
  }
}

// Around each power of two and of e, where results step; negative arguments beside others and alone.
TEST(Scalar, ExponentialsAndLogarithmsOfWholeNumbers) {
  std::vector<int64_t> numbers{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (int64_t a = -70; a <= 70; ++a) numbers.push_back(a);
  for (int k = 0; k < 63; ++k) {
    const auto power = static_cast<int64_t>(std::exp(std::min(k, 43)));
    for (int64_t beside = -2; beside <= 2; ++beside) {
      numbers.push_back((int64_t{1} << k) + beside);
      numbers.push_back(power + beside);
    }
  }
  std::vector<int64_t> negative{0, -1, -5, std::numeric_limits<int64_t>::min()};
  for (const auto op : {ScalarOp::k_exp, ScalarOp::k_log}) {
    for (const auto& in : {numbers, negative}) {
      std::vector<int64_t> got(in.size());
      backends::cpu::wideFunction(op)(in.data(), nullptr, nullptr, got.data(), got.size());
      for (size_t i = 0; i < in.size(); ++i)
        EXPECT_EQ(got[i], ops::evaluateScalar(op, in[i], int64_t{0}, int64_t{0}))
            << ops::row(op).name << " of " << in[i];
    }
  }
}

TEST(Scalar, ExponentialsOfI32) {
  for (const int32_t last : {-3, 60}) {
    std::vector<int32_t> in, got;
    for (int32_t a = -60; a <= last; ++a) in.push_back(a);
    in.push_back(std::numeric_limits<int32_t>::min());
    got.resize(in.size());
    backends::cpu::typedFunction(ScalarOp::k_exp, DataType::kI32)(in.data(), nullptr, nullptr, got.data(), got.size());
    for (size_t i = 0; i < in.size(); ++i)
      EXPECT_EQ(got[i],
                static_cast<int32_t>(ops::evaluateScalar(ScalarOp::k_exp, int64_t{in[i]}, int64_t{0}, int64_t{0})))
          << in[i];
  }
}

// Results near both ends of f32, among others that need no care and alone; those below 2^-126 in their own digits.
TEST(Scalar, ExponentialsNearTheEnds) {
  const auto exponential = vectorFunction(ScalarOp::k_exp);
  for (const float a : {-86.99f, -87.f, -87.3f, -87.33654f, -87.4f, -90.f, -103.f, -103.9f, -104.5f, -1e30f, 87.f,
                        88.3f, 88.5f, 88.72f, 88.7229f, 89.f, 1e30f}) {
    for (const float others : {a, 0.5f}) {
      std::vector<float> in(4 * kLanes, others), got(in.size());
      in[in.size() / 2] = a;
      exponential(in.data(), nullptr, nullptr, got.data(), got.size());
      const double expected = std::exp(static_cast<double>(a));
      if (expected > static_cast<double>(std::numeric_limits<float>::max())) {
        EXPECT_EQ(got[in.size() / 2], std::numeric_limits<float>::infinity()) << a;
      } else {
        EXPECT_NEAR(got[in.size() / 2], expected, 3e-7 * expected + 1.5e-45) << a;
      }
    }
  }
}

TEST(Scalar, VectorFormsAreRight) {
  const auto a = values();
  const std::vector<float> b(a.size(), 0.75f), c(a.size(), 1.25f);
  std::vector<float> got(a.size());
  // 1 + erf(a) of a large negative a is the rounding of 1, times a.
  const auto isGelu = [](ScalarOp op) { return op == ScalarOp::k_gelu_erf || op == ScalarOp::k_gelu_tanh; };
  for (size_t k = 0; k < ops::scalarTable().size(); ++k) {
    const auto op = static_cast<ScalarOp>(k);
    if (op == ScalarOp::k_cast) continue;  // says nothing without a type
    vectorFunction(op)(a.data(), b.data(), c.data(), got.data(), got.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (isGelu(op) && std::isinf(a[i])) continue;  // infinity times zero
      const double expected = ops::evaluateScalar(op, static_cast<double>(a[i]), 0.75, 1.25);
      expectNear(got[i], expected, isGelu(op) ? 0.1 + 0.1 * std::abs(static_cast<double>(a[i])) : 0.1,
                 fmt::format("{}({})", ops::row(op).name, a[i]));
    }
  }
}

TEST(Scalar, NanOfTheSecondOperand) {
  const std::vector<float> a(kLanes, 1.f), b(kLanes, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> got(kLanes);
  for (const auto op : {ScalarOp::k_min, ScalarOp::k_max, ScalarOp::k_add, ScalarOp::k_and, ScalarOp::k_or,
                        ScalarOp::k_equal, ScalarOp::k_less}) {
    vectorFunction(op)(a.data(), b.data(), b.data(), got.data(), got.size());
    const double expected = ops::evaluateScalar(op, 1., static_cast<double>(b[0]), 0.);
    for (const float value : got) expectNear(value, expected, 0, std::string(ops::row(op).name));
  }
}

TEST(Scalar, ElusKeepTheirDigitsNearZero) {
  std::vector<float> a;
  for (int i = 0; i < 160; ++i) a.push_back(-std::pow(10.f, -static_cast<float>(i) / 20.f));
  const std::vector<float> b(a.size(), 1.f);
  std::vector<float> got(a.size());
  vectorFunction(ScalarOp::k_elu)(a.data(), b.data(), b.data(), got.data(), got.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(got[i], std::expm1(static_cast<double>(a[i])), 1e-6 * std::abs(a[i]));
}

TEST(Scalar, GatesAreJoined) {
  const auto a = values();
  const std::vector<float> b(a.size(), 0.2f), c(a.size(), 0.5f);
  std::vector<float> got(a.size());
  EXPECT_EQ(gatedFunction(ScalarOp::k_tanh), nullptr);
  for (const auto op : {ScalarOp::k_sigmoid, ScalarOp::k_hard_sigmoid}) {
    gatedFunction(op)(a.data(), b.data(), c.data(), got.data(), got.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isinf(a[i])) continue;  // infinity times zero
      const double x = static_cast<double>(a[i]);
      expectNear(got[i], x * ops::evaluateScalar(op, x, static_cast<double>(0.2f), 0.5), 0.1,
                 fmt::format("{}({})", ops::row(op).name, a[i]));
    }
  }
}

}  // namespace
}  // namespace tenon::test
