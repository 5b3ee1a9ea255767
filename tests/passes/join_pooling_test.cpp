// First convolutions of images that take the maximum behind them along, and what stays.
#include "check_pass.h"

#include "passes/composites.h"

namespace tenon::passes {
namespace {

bool always(const graph::Graph&, std::span<const graph::NodeId>, std::span<const graph::NodeId>) { return true; }

std::string bodyOf(const std::string& convolution, const std::string& pooling, const std::string& behind = "",
                   const std::string& type = "f16") {
  return "graph \"g\" {\n  input %x : " + type + "[N,3,13,17]\n  const %w : " + type +
         "[8,3,3,3] = random(1)\n  const %b : " + type + "[8] = random(2)\n" + convolution + "\n" + pooling +
         "\n  output %y\n" + behind + "}\n";
}

const char* const kConvolution =
    R"g(  %c : f16[N,8,6,8] = convolution{strides=[2,2] hasBias=true epilogue="relu(x0)"}(%x, %w, %b) "first")g";
const char* const kPooling =
    R"g(  %y : f16[N,8,3,4] = pooling{window=[3,3] strides=[2,2] prePadding=[1,1] postPadding=[1,1]}(%c) "maximum")g";

graph::Graph expectJoin(const std::string& text, const std::string& left) {
  const auto before = graph::parse(text);
  auto after = before;
  joinPooling(after, always);
  graph::verify(after);
  EXPECT_EQ(operators(after), left) << graph::text(after);
  expectSameValues(before, after);
  EXPECT_EQ(joinPooling(after, always), 0);
  return after;
}

TEST(JoinPooling, BehindAConvolution) {
  const auto after = expectJoin(bodyOf(kConvolution, kPooling), "composite");
  const auto& node = after.node(after.order()[0]);
  EXPECT_EQ(node.name, "first + maximum");
  EXPECT_EQ(node.op.text(),
            "composite{parts=[{convolution{strides=[2,2] hasBias=true epilogue=\"relu(x0)\"} [0,1,2]},{pooling{"
            "window=[3,3] strides=[2,2] prePadding=[1,1] postPadding=[1,1]} [-1]}] outputs=[1]}");
}

TEST(JoinPooling, BehindACastAndAConvolution) {
  const auto before = graph::parse(R"g(graph "g" {
  input %x : f32[N,3,13,17]
  const %w : f16[8,3,3,3] = random(1)
  %h : f16[N,3,13,17] = pointwise{expr="cast.f16(x0)"}(%x) "cast"
  %c : f16[N,8,6,8] = convolution{strides=[2,2]}(%h, %w) "first"
  %y : f16[N,8,3,4] = pooling{window=[2,2] strides=[2,2]}(%c) "maximum"
  output %y
})g");
  auto after = before;
  EXPECT_EQ(joinCast(after, always), 1);
  EXPECT_EQ(joinPooling(after, always), 1);
  graph::verify(after);
  EXPECT_EQ(operators(after), "composite");
  EXPECT_EQ(after.node(after.order()[0]).op.text(),
            "composite{parts=[{pointwise{expr=\"cast.f16(x0)\"} [0]},{convolution{strides=[2,2]} [-1,1]},{pooling{"
            "window=[2,2] strides=[2,2]} [-2]}] outputs=[2]}");
  expectSameValues(before, after);
}

TEST(JoinPooling, WhatStays) {
  // The convolution's result is read elsewhere, or is an output; averages; f32; many channels.
  expectJoin(
      bodyOf(kConvolution, kPooling, "  %z : f16[N,8,6,8] = pointwise{expr=\"tanh(x0)\"}(%c) \"z\"\n  output %z\n"),
      "convolution pooling pointwise");
  expectJoin(bodyOf(kConvolution, kPooling, "  output %c\n"), "convolution pooling");
  expectJoin(
      bodyOf(kConvolution, R"g(  %y : f16[N,8,3,4] = pooling{type=average window=[2,2] strides=[2,2]}(%c) "y")g"),
      "convolution pooling");
  expectJoin(bodyOf(R"g(  %c : f32[N,8,6,8] = convolution{strides=[2,2]}(%x, %w) "first")g",
                    R"g(  %y : f32[N,8,3,4] = pooling{window=[2,2] strides=[2,2]}(%c) "y")g", "", "f32"),
             "convolution pooling");
  expectJoin(R"g(graph "g" {
  input %x : f16[N,16,13,17]
  const %w : f16[8,16,3,3] = random(1)
  %c : f16[N,8,6,8] = convolution{strides=[2,2]}(%x, %w) "first"
  %y : f16[N,8,3,4] = pooling{window=[2,2] strides=[2,2]}(%c) "y"
  output %y
})g",
             "convolution pooling");
}

TEST(JoinPooling, OnlyWhereItPays) {
  auto graph = graph::parse(bodyOf(kConvolution, kPooling));
  const auto never = [](const graph::Graph&, std::span<const graph::NodeId> made,
                        std::span<const graph::NodeId> instead) {
    EXPECT_EQ(made.size(), 1u);
    EXPECT_EQ(instead.size(), 2u);
    return false;
  };
  EXPECT_EQ(joinPooling(graph, never), 0);
  EXPECT_EQ(operators(graph), "convolution pooling");
}

}  // namespace
}  // namespace tenon::passes
