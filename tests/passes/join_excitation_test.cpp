// Squeeze-and-excitation that becomes one node, and what stays.
#include "check_pass.h"

#include "passes/composites.h"

namespace tenon::passes {
namespace {

bool always(const graph::Graph&, std::span<const graph::NodeId>, std::span<const graph::NodeId>) { return true; }

std::string bodyOf(const std::string& mean, const std::string& scale, const std::string& behind = "") {
  return R"g(
  input %i : f16[N,24,9,7]
  const %v : f16[8,24,1,1] = random(1)
  const %b : f16[8] = random(2)
  const %w : f16[24,8,1,1] = random(3)
  %x : f16[N,24,9,7] = pointwise{expr="relu(x0)"}(%i) "front"
)g" + mean +
         R"g(
  %s : f16[N,8,1,1] = convolution{hasBias=true epilogue="relu(x0)"}(%m, %v, %b) "squeeze"
  %g : f16[N,24,1,1] = convolution{epilogue="sigmoid(x0)"}(%s, %w) "excite"
)g" + scale +
         "\n  output %y\n" + behind;
}

const char* const kMean = R"g(  %m : f16[N,24,1,1] = reduce{op=avg axes=[2,3] keepDims=true}(%x) "mean")g";
const char* const kScale = R"g(  %y : f16[N,24,9,7] = pointwise{expr="mul(x0,x1)"}(%g, %x) "scale")g";

graph::Graph expectJoin(const std::string& body, const std::string& left) {
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  joinExcitation(after, always);
  graph::verify(after);
  EXPECT_EQ(operators(after), left) << graph::text(after);
  expectSameValues(before, after);
  EXPECT_EQ(joinExcitation(after, always), 0);
  const auto text = graph::text(after, INT64_MAX);
  EXPECT_EQ(graph::text(graph::parse(text), INT64_MAX), text);
  return after;
}

TEST(JoinExcitation, InEitherOrderOfOperands) {
  const auto after = expectJoin(bodyOf(kMean, kScale), "pointwise composite");
  EXPECT_EQ(after.node(after.order()[1]).name, "mean + squeeze + excite + scale");
  EXPECT_EQ(after.node(after.order()[1]).op.text(),
            "composite{parts=[{reduce{op=avg axes=[2,3] keepDims=true} [0]},{convolution{hasBias=true "
            "epilogue=\"relu(x0)\"} [-1,1,2]},{convolution{epilogue=\"sigmoid(x0)\"} "
            "[-2,3]},{pointwise{expr=\"mul(x0,x1)\"} [-3,0]}] outputs=[3]}");
  expectJoin(bodyOf(kMean, R"g(  %y : f16[N,24,9,7] = pointwise{expr="sub(x0,x1);relu(t0)"}(%x, %g) "scale")g"),
             "pointwise composite");
}

TEST(JoinExcitation, WhatOthersReadStays) {
  const std::string four = "pointwise reduce convolution convolution pointwise";
  expectJoin(bodyOf(kMean, kScale, "  output %g\n"), four);
  expectJoin(bodyOf(kMean, kScale, "  output %m\n"), four);
  expectJoin(bodyOf(kMean, kScale, "  output %x\n"), "pointwise composite");
}

TEST(JoinExcitation, OtherReductionsAndImagesStay) {
  expectJoin(bodyOf(R"g(  %m : f16[N,24,1,1] = reduce{op=max axes=[2,3] keepDims=true}(%x) "mean")g", kScale),
             "pointwise reduce convolution convolution pointwise");
  expectJoin(bodyOf(R"g(  %m : f16[N,24,1,1] = reduce{op=avg axes=[2,3] keepDims=true}(%i) "mean")g", kScale),
             "pointwise reduce convolution convolution pointwise");
  auto inFloats = bodyOf(kMean, kScale);
  for (size_t at = 0; (at = inFloats.find("f16", at)) != std::string::npos;) inFloats.replace(at, 3, "f32");
  expectJoin(inFloats, "pointwise reduce convolution convolution pointwise");
}

TEST(JoinExcitation, OnlyWhereItPays) {
  auto graph = graph::parse("graph \"g\" {\n" + bodyOf(kMean, kScale) + "}\n");
  int asked = 0;
  const auto never = [&](const graph::Graph& whole, std::span<const graph::NodeId> made,
                         std::span<const graph::NodeId> instead) {
    ++asked;
    EXPECT_EQ(instead.size(), 4u);
    EXPECT_EQ(whole.node(made[0]).op.name(), "composite");
    return false;
  };
  EXPECT_EQ(joinExcitation(graph, never), 0);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(operators(graph), "pointwise reduce convolution convolution pointwise");
}

}  // namespace
}  // namespace tenon::passes
