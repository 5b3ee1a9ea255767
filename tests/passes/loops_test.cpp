// What leaves loops: values that are the same in every iteration, and products of the slices of a sequence.
#include "check_pass.h"
#include "ops/op/loop.h"

namespace tenon::passes {
namespace {

const ops::Loop& loopOf(const graph::Graph& graph) {
  for (const auto id : graph.order()) {
    if (const auto* loop = graph.node(id).op.as<ops::Loop>()) return *loop;
  }
  throw InternalError("the graph has no loop");
}

TEST(HoistLoops, ProductsOfSlicesBecomeOneOfTheSequence) {
  for (const char* layout : {"[6,2,3] 0 false", "[6,2,3] 0 true", "[2,6,3] 1 false", "[2,3,6] 2 true"}) {
    SCOPED_TRACE(layout);
    const std::string_view text = layout;
    const auto space = text.find(' ');
    const auto graph = std::string("input %x : f32") + std::string(text.substr(0, space)) + R"g(
      input %h : f32[2,4]
      const %n : i64[] = {6}
      const %w : f32[3,4] = random(1)
      const %r : f32[4,4] = random(2)
      const %b : f32[4] = random(3)
      %last : f32[2,4], %all : f32[6,2,4] = loop{states=1 counted=true next={5 [{matmul [1,2] 1 "xw"},{pointwise{expr="add(x0,x1)"} [5,4] 1 "b"},{matmul [0,3] 1 "hr"},{pointwise{expr="add(x0,x1);tanh(t0)"} [6,7] 1 "t"}] [8,8]} slices=[{)g" +
                       std::string(text.substr(space + 1)) +
                       R"g( -1}] stacks=[{0 false 6}]}(%n, %h, %x, %w, %r, %b) "loop"
      output %last
      output %all
)g";
    const bool isFirst = text[space + 1] == '0';
    const auto after =
        expectPass("hoist_loops", graph, isFirst ? "matmul pointwise loop" : "transpose matmul pointwise loop");
    const auto& loop = loopOf(after);
    EXPECT_EQ(loop.next->nodes.size(), 2U);
    ASSERT_EQ(loop.slices.size(), 1U);
    EXPECT_EQ(loop.slices[0].axis, 0);
  }
}

TEST(HoistLoops, SlicesWithOtherReadersStay) {
  const auto after = expectPass("hoist_loops", R"g(input %x : f32[5,2,3]
    input %h : f32[2,3]
    const %n : i64[] = {4}
    const %w : f32[3,3] = random(1)
    %last : f32[2,3] = loop{states=1 counted=true next={3 [{matmul [1,2] 1 "xw"},{pointwise{expr="add(x0,x1);mul(t0,x2)"} [0,3,1] 1 "t"}] [4]} slices=[{0 false -1}]}(%n, %h, %x, %w) "loop"
    output %last
)g",
                                "matmul loop");
  EXPECT_EQ(loopOf(after).slices.size(), 2U);
}

TEST(HoistLoops, WhatIsTheSameInEveryIterationIsComputedOnce) {
  for (const char* count : {"0", "1", "3"}) {
    const auto after = expectPass("hoist_loops", std::string("const %n : i64[] = {") + count + R"g(}
      input %a : f32[2,3]
      input %b : f32[2,3]
      %x : f32[2,3], %y : f32[2,3] = loop{states=2 counted=true next={2 [{pointwise{expr="exp(x0)"} [1] 1 "e"},{pointwise{expr="tanh(x0)"} [2] 1 "t"},{pointwise{expr="add(x0,x1)"} [0,3] 1 "s"}] [4,1]}}(%n, %a, %b) "loop"
      output %x
      output %y
)g",
                                  "pointwise pointwise loop");
    EXPECT_EQ(loopOf(after).states, 1);
  }
}

// A loop of no iteration refuses no index. What is computed for it leaves, the reading stays.
TEST(HoistLoops, WhatTakesIndicesStays) {
  for (const char* reading : {"gather{axis=0} [4,3]", "scatter{axis=0} [4,3,2]", "scatter_reduce{axis=0} [4,3,2]"}) {
    SCOPED_TRACE(reading);
    const bool scatters = reading[0] == 's';
    const auto after =
        expectPass("hoist_loops",
                   std::string(R"g(const %n : i64[] = {2}
      input %a : f32[5,3]
      input %b : f32[5,3]
      input %c : f32[5,3]
      input %i : i64[5)g") +
                       (scatters ? ",3" : "") + R"g(]
      %x : f32[5,3] = loop{states=1 counted=true next={4 [{pointwise{expr="exp(x0)"} [1] 1 "e"},{)g" +
                       reading +
                       R"g( 1 "r"},{pointwise{expr="add(x0,x1)"} [0,5] 1 "s"}] [6]}}(%n, %a, %b, %c, %i) "loop"
      output %x
)g",
                   "pointwise loop");
    EXPECT_EQ(loopOf(after).next->nodes.size(), 2U);
  }
}

TEST(HoistLoops, WithATestedLoopTheConditionKeepsItsOperands) {
  expectPass("hoist_loops", R"g(input %a : f32[3]
    const %limit : f32[] = {100}
    const %step : f32[3] = {1,2,3}
    const %from : i64[] = {0}
    %x : f32[3], %s : f32[3], %i : i64[] = loop{states=3 test={5 [{pointwise{expr="less(x0,9)"} [2] 1 "less"}] [5]} next={5 [{pointwise{expr="exp(x0)"} [4] 1 "e"},{pointwise{expr="add(x0,x1);add(t0,x2)"} [0,1,5] 1 "s"},{pointwise{expr="add(x0,1)"} [2] 1 "i"}] [6,1,7]}}(%a, %step, %from, %limit, %step) "loop"
    output %x
    output %s
    output %i
)g",
             "pointwise loop");
}

TEST(HoistLoops, LoopsThatChangeNothingGo) {
  expectPass("hoist_loops", R"g(input %a : f32[3]
    const %n : i64[] = {7}
    %x : f32[3] = loop{states=1 counted=true next={1 [] [0]}}(%n, %a) "loop"
    %y : f32[3] = pointwise{expr="neg(x0)"}(%x) "y"
    output %y
)g",
             "pointwise");
}

}  // namespace
}  // namespace tenon::passes
