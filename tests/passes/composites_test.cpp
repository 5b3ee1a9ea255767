// Nodes that become one composite, and those that stay.
#include "check_pass.h"

#include "core/error.h"
#include "ops/op/composite.h"
#include "passes/composites.h"
#include "random_graph.h"

namespace tenon::passes {
namespace {

bool always(const graph::Graph&, std::span<const graph::NodeId>, std::span<const graph::NodeId>) { return true; }

// The join on a body of statements: the operators that are left, values as before, nothing left to do.
graph::Graph expectJoin(const std::string& body, const std::string& left) {
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  joinBranches(after, always);
  graph::verify(after);
  EXPECT_EQ(operators(after), left) << graph::text(after);
  expectSameValues(before, after);
  EXPECT_EQ(joinBranches(after, always), 0);
  const auto text = graph::text(after, INT64_MAX);
  EXPECT_EQ(graph::text(graph::parse(text), INT64_MAX), text);
  return after;
}

TEST(JoinBranches, ConvolutionsOfOneInput) {
  const auto after = expectJoin(R"g(
  input %x : f32[N,6,9,9]
  const %w : f32[5,6,1,1] = random(1)
  const %v : f32[7,6,1,1] = random(2)
  const %u : f32[4,6,3,3] = random(3)
  const %b : f32[7] = random(4)
  %p : f32[N,5,9,9] = convolution{epilogue="relu(x0)"}(%x, %w) "left"
  %q : f32[N,7,9,9] = convolution{hasBias=true}(%x, %v, %b) "right"
  %r : f32[N,4,7,7] = convolution(%x, %u) "wide"
  output %p
  output %q
  output %r
)g",
                                "convolution composite");
  EXPECT_EQ(after.node(after.order()[1]).name, "left + right");
}

TEST(JoinBranches, WhatComputesWithAnotherBranchStays) {
  expectJoin(R"g(
  input %x : f32[1,6,9,9]
  const %w : f32[6,6,1,1] = random(1)
  const %v : f32[6,6,1,1] = random(2)
  %p : f32[1,6,9,9] = convolution(%x, %w) "left"
  %q : f32[1,6,9,9] = convolution{epilogue="add(x0,x1)"}(%x, %v, %p) "right"
  output %q
)g",
             "convolution convolution");
}

TEST(JoinBranches, OnlyWhereItPays) {
  const auto before = graph::parse(R"g(graph "g" {
  input %x : f32[1,6,9,9]
  const %w : f32[5,6,1,1] = random(1)
  const %v : f32[7,6,1,1] = random(2)
  %p : f32[1,5,9,9] = convolution(%x, %w) "left"
  %q : f32[1,7,9,9] = convolution(%x, %v) "right"
  output %p
  output %q
})g");
  for (const bool isFaster : {false, true}) {
    int asked = 0;
    auto after = before;
    runJoins(
        after, {},
        [&](const graph::Graph& graph, std::span<const graph::NodeId> made, std::span<const graph::NodeId> instead) {
          ++asked;
          EXPECT_EQ(instead.size(), 2u);
          EXPECT_EQ(graph.node(made[0]).outputs.size(), 2u);
          return isFaster;
        });
    EXPECT_EQ(operators(after), isFaster ? "composite" : "convolution convolution");
    EXPECT_EQ(asked, 1);
  }
  const ScopedVariable disable("TENON_DISABLE", "join_branches");
  auto after = before;
  runJoins(after, {}, always);
  EXPECT_EQ(operators(after), "convolution convolution");
}

TEST(JoinBranches, RandomGraphsKeepTheirValues) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    const auto before = randomGraph(seed);
    auto after = before;
    run(after, {});
    runJoins(after, {}, always);
    expectSameValues(before, after, seed);
  }
}

constexpr const char* kImage = R"g(
  input %x : f32[N,3,9,9]
  const %w : f16[8,3,3,3] = random(1)
  const %b : f16[8] = random(2)
  %h : f16[N,3,9,9] = pointwise{expr="clip(x0,-65504,65504);cast.f16(t0)"}(%x) "cast"
  %y : f16[N,8,7,7] = convolution{hasBias=true epilogue="relu(x0)"}(%h, %w, %b) "stem" from("stem")
  output %y
)g";

std::string joinedForGpu(const std::string& body, const Pays& pays, const std::string& device = "cuda") {
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  Options options;
  options.device = device;
  runJoins(after, options, pays);
  expectSameValues(before, after);
  const auto text = graph::text(after, INT64_MAX);
  EXPECT_EQ(graph::text(graph::parse(text), INT64_MAX), text);
  return operators(after);
}

TEST(JoinCast, ImagesOfNetworksInHalves) {
  EXPECT_EQ(joinedForGpu(kImage, always), "composite");
  EXPECT_EQ(joinedForGpu(kImage, always, "cpu"), "pointwise convolution");
  const auto refuse = [](const graph::Graph& graph, std::span<const graph::NodeId> made,
                         std::span<const graph::NodeId> instead) {
    EXPECT_EQ(instead.size(), 2u);
    EXPECT_EQ(graph.node(made[0]).inputs.size(), 3u);
    EXPECT_EQ(graph.value(graph.node(made[0]).inputs[0]).name, "x");
    return false;
  };
  EXPECT_EQ(joinedForGpu(kImage, refuse), "pointwise convolution");
  const ScopedVariable disable("TENON_DISABLE", "join_cast");
  EXPECT_EQ(joinedForGpu(kImage, always), "pointwise convolution");
}

TEST(JoinCast, WhatOthersReadStays) {
  EXPECT_EQ(joinedForGpu(std::string(kImage) + "  output %h\n", always), "pointwise convolution");
  EXPECT_EQ(
      joinedForGpu(std::string(kImage) + "  %z : f16[N,3,9,9] = pointwise{expr=\"relu(x0)\"}(%h) \"z\"\n  output %z\n",
                   always),
      "pointwise convolution pointwise");
}

TEST(JoinCast, ManyChannelsStay) {
  EXPECT_EQ(joinedForGpu(R"g(
  input %x : f32[1,8,9,9]
  const %w : f16[8,8,3,3] = random(1)
  %h : f16[1,8,9,9] = pointwise{expr="cast.f16(x0)"}(%x) "cast"
  %y : f16[1,8,7,7] = convolution(%h, %w) "stem"
  output %y
)g",
                         always),
            "pointwise convolution");
}

TEST(Composite, BadTextIsRefused) {
  for (const auto* text : {"composite{parts=[{composite [0]}]}", "composite{parts=[{convolution}]}",
                           "composite{parts=[{convolution [0,1]]}"}) {
    EXPECT_THROW(ops::Operator::parse(text), UserError) << text;
  }
  const std::vector<ops::TensorType> types{{DataType::kF32, Shape{1, 2, 3, 3}, std::nullopt}};
  for (const auto* text :
       {"composite{parts=[{softmax [1]}] outputs=[0]}", "composite{parts=[{softmax [-1]}] outputs=[0]}",
        "composite{parts=[{softmax [0]}] outputs=[1]}", "composite{parts=[{softmax [0]}] outputs=[-1]}",
        "composite{parts=[{topk [0]}] outputs=[0]}"}) {
    EXPECT_THROW(ops::Operator::parse(text).infer("c", types), UserError) << text;
  }
}

}  // namespace
}  // namespace tenon::passes
