// What leaves loops: values that are the same in every iteration, products of the slices of a sequence, and whole loops
// of few iterations.
#include "check_pass.h"
#include "ops/op/loop.h"
#include "ops/within.h"

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

// s = tanh(s + x[k]), all s.
std::string shortLoop(int64_t trips, const char* rows, int64_t axis, bool reverse, int64_t length) {
  const bool isFirst = axis == 0;
  return fmt::format(R"g(const %n : i32[] = {{{0}}}
    input %x : f32{1}
    input %s : f32[3]
    %last : f32[3], %all : f32{2} = loop{{states=1 counted=true next={{2 [{{pointwise{{expr="add(x0,x1);tanh(t0)"}} [0,1] 1 "t"}}] [2,2]}} slices=[{{{3} {4} -1}}] stacks=[{{{3} {4} {5}}}]}}(%n, %s, %x) "loop"
    output %last
    output %all
)g",
                     trips, rows, isFirst ? fmt::format("[{},3]", length) : fmt::format("[3,{}]", length), axis,
                     reverse, length);
}

TEST(UnrollLoops, FewIterationsAreWrittenOut) {
  const auto times = [](const std::string& text, int64_t count) {
    std::string result;
    for (int64_t i = 0; i < count; ++i) result += (i == 0 ? "" : " ") + text;
    return result;
  };
  for (const bool reverse : {false, true}) {
    for (const int64_t trips : {1, 2, 16}) {
      SCOPED_TRACE(fmt::format("{} {}", trips, reverse));
      const std::string written = times("slice reshape pointwise", trips) + " " + times("reshape", trips);
      const std::string joined = trips == 1 ? written : written + " concat";
      expectPass("unroll_loops", shortLoop(trips, "[16,3]", 0, reverse, trips), joined);
      expectPass("unroll_loops", shortLoop(trips, "[3,17]", 1, reverse, trips), joined);
      expectPass("unroll_loops", shortLoop(trips, "[17,3]", 0, reverse, trips + 2), written + " concat");
    }
    expectPass("unroll_loops", shortLoop(17, "[20,3]", 0, reverse, 17), "loop");
  }
}

// Slices that would be copied one by one stay with the loop.
TEST(UnrollLoops, OnAGpuSlicesLieInPlace) {
  Options options;
  options.device = "cuda";
  for (const auto& [shape, slice, isWritten] :
       {std::tuple("[2,64]", "0", true), {"[1,2,64]", "1", true}, {"[2,63]", "0", false}, {"[64,2]", "1", false}}) {
    auto graph = graph::parse(fmt::format(R"g(graph "g" {{
    const %n : i64[] = {{2}}
    input %x : f32{0}
    const %s : f32[1] = {{1}}
    %last : f32[1] = loop{{states=1 counted=true next={{2 [{{reduce{{axes=[{1}]}} [1] 1 "r"}},{{pointwise{{expr="add(x0,x1)"}} [0,2] 1 "t"}}] [3]}} slices=[{{{2} false -1}}]}}(%n, %s, %x) "loop"
    output %last
  }})g",
                                          shape, shape[1] == '1' ? "1" : "0", slice));
    EXPECT_EQ(runPass("unroll_loops", graph, options), isWritten ? 1 : 0) << shape;
  }
}

TEST(UnrollLoops, NoIterationLeavesTheFirstValuesAndZeros) {
  expectPass("unroll_loops", shortLoop(0, "[4,3]", 0, false, 2), "pointwise pointwise");
  expectPass("unroll_loops", shortLoop(0, "[0,3]", 0, true, 0), "pointwise pointwise");
  expectPass("unroll_loops", shortLoop(-3, "[3,4]", 1, false, 1), "pointwise pointwise");
}

// An error of the execution stays one.
TEST(UnrollLoops, WhatALoopRefusesItStillRefuses) {
  for (const auto& text : {shortLoop(5, "[4,3]", 0, false, 5), shortLoop(5, "[8,3]", 0, false, 4)}) {
    auto graph = graph::parse("graph \"g\" {\n" + text + "}\n");
    EXPECT_EQ(runPass("unroll_loops", graph), 0);
    EXPECT_THROW(graph::evaluate(graph, test::views(randomInputs(graph, 2, 1))), UserError);
  }
}

// States that change places, one that stays, one that begins as another one: each is a result.
TEST(UnrollLoops, StatesMayChangePlaces) {
  for (const char* count : {"0", "1", "2", "3"}) {
    SCOPED_TRACE(count);
    const auto before = graph::parse(std::string(R"g(graph "g" {
      const %n : i64[] = {)g") + count +
                                     R"g(}
      const %c : f32[2] = {5,6}
      input %a : f32[2]
      input %b : f32[2]
      %p : f32[2], %q : f32[2], %r : f32[2], %s : f32[2] = loop{states=4 counted=true next={4 [] [1,0,2,1]}}(%n, %a, %b, %c, %c) "loop"
      output %p
      output %q
      output %r
      output %s
    })g");
    auto after = before;
    EXPECT_EQ(runPass("unroll_loops", after), 1);
    graph::verify(after);
    EXPECT_EQ(operators(after), "pointwise pointwise pointwise pointwise");  // outputs are tensors of their own
    expectSameValues(before, after);
    auto whole = before;
    run(whole, {});
    expectSameValues(before, whole);
  }
}

TEST(UnrollLoops, WhatCannotBeWrittenOutStays) {
  const auto stays = [](const char* name, const std::string& text) {
    SCOPED_TRACE(name);
    auto graph = graph::parse("graph \"g\" {\n" + text + "}\n");
    EXPECT_EQ(runPass("unroll_loops", graph), 0);
  };
  stays("drawn numbers", R"g(const %n : i64[] = {2}
    input %a : f32[2]
    %x : f32[2] = loop{states=1 counted=true next={1 [{random{shape=[2]} [] 1 "r"},{pointwise{expr="add(x0,x1)"} [0,1] 1 "s"}] [2]}}(%n, %a) "loop"
    output %x
)g");
  stays("a computed count", R"g(input %n : i64[]
    input %a : f32[2]
    %x : f32[2] = loop{states=1 counted=true next={1 [{pointwise{expr="exp(x0)"} [0] 1 "e"}] [1]}}(%n, %a) "loop"
    output %x
)g");
  stays("a condition", R"g(const %n : i64[] = {2}
    input %a : f32[]
    %x : f32[] = loop{states=1 counted=true test={1 [{pointwise{expr="less(x0,9)"} [0] 1 "l"}] [1]} next={1 [{pointwise{expr="exp(x0)"} [0] 1 "e"}] [1]}}(%n, %a) "loop"
    output %x
)g");
  stays("a size of the body", R"g(const %n : i64[] = {2}
    input %a : f32[4]
    %x : f32[4], %k : i64[2] = loop{states=1 counted=true next={1 [{count_nonzero{} [0] 1 "c"},{size{symbol="k" opt=2 upper=4} [1] 1 "k"},{pointwise{expr="mul(x0,0.5)"} [0] 1 "h"}] [3,2]} stacks=[{0 false 2}]}(%n, %a) "loop"
    output %x
    output %k
)g");
  std::string many;  // 40 nodes in 7 iterations
  for (int i = 0; i < 40; ++i)
    many += fmt::format("{}{{pointwise{{expr=\"exp(x0)\"}} [{}] 1 \"e\"}}", i == 0 ? "" : ",", i);
  stays("many nodes", fmt::format(R"g(const %n : i64[] = {{7}}
    input %a : f32[2]
    %x : f32[2] = loop{{states=1 counted=true next={{1 [{}] [40]}}}}(%n, %a) "loop"
    output %x
)g",
                                  many));
}

// A branch that no shapes make right stays what it is: an error where it is chosen.
TEST(OptimizeRegions, ImpossibleBranches) {
  const auto before = graph::parse(R"g(graph "g" {
    const %c : bool[] = {1}
    input %a : f32[3]
    %x : f32[3] = if{then={1 [{pointwise{expr="neg(x0)"} [0] 1 "n"}] [1]} otherwise={1 [{reshape{shape=[2,2]} [0] 1 "r"},{reshape{shape=[3]} [1] 1 "b"}] [2]}}(%c, %a) "choice"
    output %x
  })g");
  auto after = before;
  run(after, {});
  EXPECT_EQ(operators(after), "if");
  expectSameValues(before, after);
}

// Loops within loops and branches are written out where they stand.
TEST(UnrollLoops, WithinBodies) {
  const auto before = graph::parse(R"g(graph "g" {
    const %n : i64[] = {40}
    const %m : i64[] = {3}
    input %a : f32[2,3]
    %x : f32[2,3] = loop{states=1 counted=true next={2 [{loop{states=1 counted=true next={2 [{pointwise{expr="add(x0,x1);tanh(t0)"} [0,1] 1 "t"}] [2]}} [1,0,0] 1 "inner"}] [2]}}(%n, %a, %m) "outer"
    output %x
  })g");
  auto after = before;
  run(after, {});
  ASSERT_EQ(operators(after), "loop");
  for (const auto& node : loopOf(after).next->nodes) EXPECT_EQ(node.op.as<ops::Loop>(), nullptr);
  expectSameValues(before, after);
}

// Each level has few operators; written out from the outermost on, they would be 4,096.
TEST(UnrollLoops, NestedLoopsDoNotMultiply) {
  const auto before = graph::parse(R"g(graph "g" {
    const %n : i64[] = {16}
    input %a : f32[2,3]
    %x : f32[2,3] = loop{states=1 counted=true next={2 [{loop{states=1 counted=true next={2 [{loop{states=1 counted=true next={1 [{pointwise{expr="mul(x0,0.999)"} [0] 1 "t"}] [1]}} [1,0] 1 "inner"}] [2]}} [1,0,1] 1 "middle"}] [2]}}(%n, %a, %n) "outer"
    output %x
  })g");
  auto after = before;
  run(after, {});
  int64_t operators = 0;
  for (const auto id : after.order()) {
    ++operators;
    ops::forEachWithin(after.node(id).op, [&](const ops::RegionNode&) { ++operators; });
  }
  EXPECT_LE(operators, 600);
  expectSameValues(before, after);
}

}  // namespace
}  // namespace tenon::passes
