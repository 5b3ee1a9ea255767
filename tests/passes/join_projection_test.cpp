// Convolutions that are added become one node, and what stays.
#include "check_pass.h"

#include "passes/composites.h"

namespace tenon::passes {
namespace {

bool always(const graph::Graph&, std::span<const graph::NodeId>, std::span<const graph::NodeId>) { return true; }

std::string bodyOf(const std::string& projection, const std::string& sum, const std::string& behind = "") {
  return R"g(
  input %x : f16[N,16,8,6]
  input %h : f16[N,24,4,3]
  const %v : f16[32,16,1,1] = random(1)
  const %a : f16[32,1,1] = random(2)
  const %w : f16[32,24,1,1] = random(3)
  const %b : f16[32] = random(4)
  const %u : f16[32,8,1,1] = random(5)
  const %s : f16[32,32,1,1] = random(6)
)g" + projection +
         "\n" + sum + "\n  output %y\n" + behind;
}

const char* const kProjection =
    R"g(  %p : f16[N,32,4,3] = convolution{strides=[2,2] epilogue="add(x0,x1)"}(%x, %v, %a) "projection")g";
const char* const kSum =
    R"g(  %y : f16[N,32,4,3] = convolution{hasBias=true epilogue="add(x0,x1);relu(t0)"}(%h, %w, %b, %p) "sum")g";

graph::Graph expectJoin(const std::string& body, const std::string& left) {
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  joinProjection(after, always);
  graph::verify(after);
  EXPECT_EQ(operators(after), left) << graph::text(after);
  expectSameValues(before, after);
  EXPECT_EQ(joinProjection(after, always), 0);
  return after;
}

TEST(JoinProjection, OfABlockWithABiasOfItsOwn) {
  const auto after = expectJoin(bodyOf(kProjection, kSum), "composite");
  EXPECT_EQ(after.node(after.order()[0]).name, "projection + sum");
  EXPECT_EQ(after.node(after.order()[0]).op.text(),
            "composite{parts=[{convolution{strides=[2,2] epilogue=\"add(x0,x1)\"} [0,1,2]},{convolution{hasBias=true "
            "epilogue=\"add(x0,x1);relu(t0)\"} [3,4,5,-1]}] outputs=[1]}");
}

// As networks with batch normalization have it.
TEST(JoinProjection, OfBiasesOfBoth) {
  const char* const projection =
      R"g(  %p : f16[N,32,4,3] = convolution{strides=[2,2] hasBias=true}(%x, %v, %b) "projection")g";
  const auto after = expectJoin(bodyOf(projection, kSum), "composite");
  EXPECT_EQ(after.node(after.order()[0]).op.text(),
            "composite{parts=[{convolution{strides=[2,2] hasBias=true} [0,1,2]},{convolution{hasBias=true "
            "epilogue=\"add(x0,x1);relu(t0)\"} [3,4,5,-1]}] outputs=[1]}");
}

TEST(JoinProjection, WhatOthersReadStays) {
  expectJoin(bodyOf(kProjection, kSum, "  output %p\n"), "convolution convolution");
  expectJoin(bodyOf(kProjection, kSum, "  %z : f16[N,32,4,3] = pointwise{expr=\"tanh(x0)\"}(%p) \"z\"\n  output %z\n"),
             "convolution convolution pointwise");
}

TEST(JoinProjection, WhatIsNoSumOfTwoStays) {
  const auto stays = [](const std::string& projection, const std::string& sum) {
    expectJoin(bodyOf(projection, sum), "convolution convolution");
  };
  // Groups; the projection read twice by the sum; as the image instead of as a residual.
  stays(R"g(  %p : f16[N,32,4,3] = convolution{strides=[2,2] groups=2 hasBias=true}(%x, %u, %b) "projection")g", kSum);
  stays(kProjection, R"g(  %y : f16[N,32,4,3] = convolution{epilogue="add(x0,x1);mul(t0,x2)"}(%h, %w, %p, %p) "sum")g");
  stays(kProjection, R"g(  %y : f16[N,32,4,3] = convolution{hasBias=true}(%p, %s, %b) "sum")g");
}

TEST(JoinProjection, CanBeDisabled) {
  const ScopedVariable disable("TENON_DISABLE", "join_projection");
  auto graph = graph::parse("graph \"g\" {\n" + bodyOf(kProjection, kSum) + "}\n");
  runJoins(graph, {false, nullptr, "cuda", {}}, always);
  EXPECT_EQ(operators(graph), "convolution convolution");
  const auto names = joinNames();
  EXPECT_NE(std::find(names.begin(), names.end(), "join_projection"), names.end());
}

TEST(JoinProjection, OnlyWhereItPays) {
  auto graph = graph::parse("graph \"g\" {\n" + bodyOf(kProjection, kSum) + "}\n");
  const auto never = [](const graph::Graph&, std::span<const graph::NodeId> made,
                        std::span<const graph::NodeId> instead) {
    EXPECT_EQ(made.size(), 1u);
    EXPECT_EQ(instead.size(), 2u);
    return false;
  };
  EXPECT_EQ(joinProjection(graph, never), 0);
  EXPECT_EQ(operators(graph), "convolution convolution");
}

}  // namespace
}  // namespace tenon::passes
