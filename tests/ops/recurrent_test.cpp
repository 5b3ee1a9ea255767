// Recurrent: its functions, what it refuses, lengths and directions; numbers of whole cells stand in
// tests/onnx/network_recurrent_test.cpp, against ONNX's equations.
#include "ops/op/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/dims.h"
#include "core/error.h"

namespace tenon::ops {
namespace {

std::string refusal(const std::string& op, const std::vector<TensorType>& inputs) {
  try {
    Operator::parse(op).infer("n", inputs);
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

TensorType f32(std::initializer_list<int64_t> extents) {
  TensorType type;
  for (const int64_t extent : extents) type.shape.emplace_back(extent);
  return type;
}

TEST(Recurrent, FunctionsAreThoseOfOnnx) {
  const auto of = [](GateFunction f, double x, double a = 0, double b = 0) { return evaluate(f, a, b, x); };
  for (const double x : {-3.0, -0.5, 0.0, 0.25, 2.0}) {
    EXPECT_DOUBLE_EQ(of(GateFunction::kSigmoid, x), std::exp(x) / (std::exp(x) + 1));
    EXPECT_DOUBLE_EQ(of(GateFunction::kTanh, x), std::tanh(x));
    EXPECT_EQ(of(GateFunction::kRelu, x), x > 0 ? x : 0);
    EXPECT_DOUBLE_EQ(of(GateFunction::kAffine, x, 2, 3), 2 * x + 3);
    EXPECT_DOUBLE_EQ(of(GateFunction::kLeakyRelu, x, 0.1), x < 0 ? 0.1 * x : x);
    EXPECT_EQ(of(GateFunction::kThresholdedRelu, x, 0.5), x > 0.5 ? x : 0);
    EXPECT_DOUBLE_EQ(of(GateFunction::kScaledTanh, x, 2, 3), 2 * std::tanh(3 * x));
    EXPECT_DOUBLE_EQ(of(GateFunction::kHardSigmoid, x, 0.2, 0.5), std::fmin(1, std::fmax(0, 0.2 * x + 0.5)));
    EXPECT_NEAR(of(GateFunction::kElu, x, 2), x < 0 ? 2 * (std::exp(x) - 1) : x, 1e-15);
    EXPECT_DOUBLE_EQ(of(GateFunction::kSoftsign, x), x / (1 + std::fabs(x)));
    EXPECT_NEAR(of(GateFunction::kSoftplus, x), std::log(1 + std::exp(x)), 1e-15);
  }
}

TEST(Recurrent, ShapesOfItsOutputs) {
  const auto outputs = Operator::parse("recurrent").infer("n", std::vector{f32({5, 2, 2, 12}), f32({2, 12, 3})});
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0].shape, f32({5, 2, 2, 3}).shape);
  EXPECT_EQ(outputs[1].shape, f32({2, 2, 3}).shape);
  EXPECT_EQ(outputs[2].shape, f32({2, 2, 3}).shape);
  EXPECT_EQ(Operator::parse("recurrent{cell=gru}").infer("n", std::vector{f32({5, 2, 1, 9}), f32({1, 9, 3})}).size(),
            2U);
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const auto x = f32({5, 2, 1, 12});
  const auto w = f32({1, 12, 3});
  EXPECT_EQ(refusal("recurrent", {x, w}), "");
  EXPECT_NE(refusal("recurrent{functions=[tanh]}", {x, w}).find("1 functions or parameters; expected 3"),
            std::string::npos);
  EXPECT_NE(refusal("recurrent{cell=rnn coupled=true}", {x, w}).find("those of an lstm"), std::string::npos);
  EXPECT_NE(refusal("recurrent{late=true}", {x, w}).find("those of a gru"), std::string::npos);
  EXPECT_NE(refusal("recurrent", {x, f32({12, 3})}).find("expected 4 and 3 axes"), std::string::npos);
  EXPECT_NE(refusal("recurrent", {x, f32({3, 12, 3})}).find("expected 1 or 2 directions"), std::string::npos);
  EXPECT_NE(refusal("recurrent{reverse=true}", {f32({5, 2, 2, 12}), f32({2, 12, 3})}).find("reverse with two"),
            std::string::npos);
  EXPECT_NE(refusal("recurrent", {x, f32({1, 16, 4})}).find("columns of the products"), std::string::npos);
  EXPECT_NE(refusal("recurrent{hasFirst=true}", {x, w, f32({1, 3, 3})}).find("first state"), std::string::npos);
  EXPECT_NE(refusal("recurrent{hasFirst=true}", {x, w, f32({3})}).find("expected [1,2,3]"), std::string::npos);
  EXPECT_NE(refusal("recurrent{hasLengths=true}", {x, w, f32({2})}).find("expected i32 or i64 [batch]"),
            std::string::npos);
  auto half = w;
  half.dtype = DataType::kF16;
  EXPECT_NE(refusal("recurrent", {x, half}), "");
}

// What it computes then, the test of the pass take_input compares.
TEST(Recurrent, TakesItsInput) {
  const auto x = f32({2, 3, 5});
  const auto r = f32({2, 12, 3});
  const auto w = f32({2, 12, 5});
  EXPECT_EQ(refusal("recurrent{takesInput=true}", {x, r, w}), "");
  EXPECT_EQ(refusal("recurrent{takesInput=true hasInputBias=true}", {x, r, w, f32({2, 12})}), "");
  EXPECT_NE(refusal("recurrent{hasInputBias=true}", {f32({2, 3, 2, 12}), r, f32({2, 12})}).find("without its weights"),
            std::string::npos);
  EXPECT_NE(refusal("recurrent{takesInput=true}", {f32({2, 3, 2, 12}), r, w}).find("expected 3 axes each"),
            std::string::npos);
  EXPECT_NE(refusal("recurrent{takesInput=true}", {x, r, f32({2, 12, 6})}).find("input's weights"), std::string::npos);
  EXPECT_NE(refusal("recurrent{takesInput=true hasInputBias=true}", {x, r, w, f32({1, 12})}).find("input's bias"),
            std::string::npos);
  EXPECT_EQ(Operator::parse("recurrent{takesInput=true}").infer("n", std::vector{x, r, w})[0].shape,
            f32({2, 3, 2, 3}).shape);
}

// A plain cell whose state doubles: y counts the steps of each row, from its own end in reverse.
TEST(Recurrent, LengthsEndRows) {
  for (const bool reverse : {false, true}) {
    const auto op = Operator::parse(std::string("recurrent{cell=rnn functions=[affine] a=[1] b=[1] hasLengths=true") +
                                    (reverse ? " reverse=true}" : "}"));
    HostTensor x(DataType::kF32, {4, 3, 1, 1}), w(DataType::kF32, {1, 1, 1}), lengths(DataType::kI64, {3});
    for (int64_t i = 0; i < 12; ++i) x.view().storeDouble(i, 0);
    w.view().storeDouble(0, 1);
    const int64_t kLengths[] = {4, 2, 0};
    for (int64_t i = 0; i < 3; ++i) lengths.view().storeInt(i, kLengths[i]);
    HostTensor y(DataType::kF32, {4, 3, 1, 1}), last(DataType::kF32, {1, 3, 1});
    const TensorView inputs[] = {x.view(), w.view(), lengths.view()};
    const TensorView outputs[] = {y.view(), last.view()};
    op.evaluate({inputs, outputs, nullptr});
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(last.view().loadDouble(row), static_cast<double>(kLengths[row]));
      for (int64_t t = 0; t < 4; ++t) {
        const int64_t done = t >= kLengths[row] ? 0 : reverse ? kLengths[row] - t : t + 1;
        EXPECT_EQ(y.view().loadDouble(t * 3 + row), static_cast<double>(done)) << t << " " << row;
      }
    }
  }
}

}  // namespace
}  // namespace tenon::ops
