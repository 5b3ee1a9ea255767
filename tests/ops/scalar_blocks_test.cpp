// Expressions evaluated block by block, against the program that goes element by element: the same bits.
#include "ops/scalar_blocks.h"

#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/strided.h"
#include "ops/scalar_program.h"

namespace tenon::ops {
namespace {

HostTensor randomTensor(const Dims& dims, std::mt19937& random) {
  HostTensor tensor(DataType::kF32, dims);
  std::normal_distribution<float> draw(0.f, 2.f);
  auto* const data = tensor.view().as<float>();
  for (int64_t i = 0; i < dims.count(); ++i) data[i] = draw(random);
  if (dims.count() > 3) data[3] = std::numeric_limits<float>::quiet_NaN();
  if (dims.count() > 5) data[5] = -std::numeric_limits<float>::infinity();
  return tensor;
}

void expectSame(const std::string& expression, const std::vector<Dims>& inputs, const Dims& out) {
  SCOPED_TRACE(expression + " " + out.text());
  const auto expr = parseScalarExpr(expression);
  std::mt19937 random(3);
  std::vector<HostTensor> tensors;
  std::vector<TensorView> views;
  for (const auto& dims : inputs) views.push_back(tensors.emplace_back(randomTensor(dims, random)).view());
  const HostTensor got(DataType::kF32, out), expected(DataType::kF32, out);
  const TensorView outputs[] = {got.view()};
  ASSERT_TRUE(evaluateInBlocks(expr, {views, outputs}));
  ScalarProgram program(expr, std::vector<DataType>(views.size(), DataType::kF32));
  std::vector<Number> numbers(views.size());
  int64_t position = 0;
  for (IndexIterator i(out); i.valid(); i.next(), ++position) {
    for (size_t k = 0; k < views.size(); ++k) {
      numbers[k] = Number::load(views[k], i.dot(stridesWithin(views[k].dims, Layout::kLinear, out)));
    }
    program(numbers).store(expected.view(), position);
  }
  for (int64_t i = 0; i < out.count(); ++i) {
    const float a = got.view().as<float>()[i], b = expected.view().as<float>()[i];
    ASSERT_TRUE(std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b))
        << "element " << i << ": " << a << " and " << b;
  }
}

TEST(ScalarBlocks, AreTheProgram) {
  expectSame("mul(x0,x1)", {{16, 3, 3, 3}, {16, 1, 1, 1}}, {16, 3, 3, 3});
  expectSame("mul(x0,x1);add(t0,x2)", {{7, 300}, {1, 300}, {1}}, {7, 300});
  expectSame("mul(x0,x1);add(t0,x2);relu(t1)", {{1, 5, 1}, {4, 1, 6}, {6}}, {4, 5, 6});
  expectSame("sigmoid(x0);mul(t0,x0);clip(t1,-0.25,0.7)", {{513}}, {513});
  expectSame("exp(x0);tanh(t0);sub(t1,2.5)", {{257, 2}}, {257, 2});
  expectSame("div(3.0,x0)", {{}}, {});
  expectSame("add(x0,x1)", {{3, 0, 2}, {1, 1, 2}}, {3, 0, 2});
}

TEST(ScalarBlocks, LeaveOtherTypesAlone) {
  const HostTensor in(DataType::kF16, Dims{4}), whole(DataType::kI32, Dims{4}), out(DataType::kF32, Dims{4}),
      truth(DataType::kBool, Dims{4});
  const auto applies = [](const std::string& expression, const HostTensor& input, const HostTensor& output) {
    const TensorView inputs[] = {input.view()}, outputs[] = {output.view()};
    return evaluateInBlocks(parseScalarExpr(expression), {inputs, outputs});
  };
  EXPECT_FALSE(applies("relu(x0)", in, in));
  EXPECT_FALSE(applies("relu(x0)", whole, whole));
  EXPECT_FALSE(applies("isnan(x0)", out, truth));
}

}  // namespace
}  // namespace tenon::ops
