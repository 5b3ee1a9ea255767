// Loops and conditionals by the kernels of their operators: against the reference, with weights that a kernel packs,
// that several kernels read in different ways, and that are computed.
#include "core/error.h"
#include "cuda/variable.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// Builds with the tactic and compares.
void check(const std::string& text, const std::vector<HostTensor>& inputs) {
  SCOPED_TRACE(text);
  const Variable loopsStay("TENON_DISABLE", "unroll_loops");  // the short ones too
  bool offered = false;
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() != "loop" && node.op.name() != "if") return candidates;
    std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic != "cpu.regions"; });
    offered = offered || !candidates.empty();
    return candidates;
  };
  expectMatchesReference(graph::parse(text), inputs, options);
  EXPECT_TRUE(offered);
}

std::vector<HostTensor> list(std::vector<Dims> dims, DataType type = DataType::kF32) {
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < dims.size(); ++i) inputs.push_back(randomTensor(type, dims[i], i + 3));
  return inputs;
}

// h = tanh(h * W + x[k]), all h and the last one: W packed, once by the loop's only product.
std::string recurrent(int64_t steps, int64_t batch, int64_t width, bool constant, const std::string& count) {
  const auto weights = constant ? fmt::format("const %w : f32[{0},{0}] = random(7)", width)
                                : fmt::format("input %w : f32[{0},{0}]", width);
  return fmt::format(R"g(graph "g" {{
  input %x : f32[{0},{1},{2}]
  {3}
  const %n : i64[] = {{{4}}}
  const %h : f32[{1},{2}] = random(5)
  %last : f32[{1},{2}], %all : f32[{1},{0},{2}] = loop{{states=1 counted=true next={{3 [{{matmul [0,2] 1 "m"}},{{pointwise{{expr="add(x0,x1);tanh(t0)"}} [3,1] 1 "a"}}] [4,4]}} slices=[{{0 true -1}}] stacks=[{{1 true {0}}}]}}(%n, %h, %x, %w) "loop"
  output %last
  output %all
}})g",
                     steps, batch, width, weights, count);
}

TEST(Regions, LoopsWithProducts) {
  for (const auto& [steps, batch, width] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {7, 1, 64}, {5, 3, 33}}) {
    for (const bool constant : {true, false}) {
      for (const int64_t count : {int64_t{0}, steps / 2, steps}) {
        auto inputs = list({{steps, batch, width}});
        if (!constant) inputs.push_back(randomTensor(DataType::kF32, {width, width}, 7));
        check(recurrent(steps, batch, width, constant, fmt::format("{}", count)), inputs);
      }
    }
  }
}

TEST(Regions, AWeightThatIsReadInTwoWays) {
  // As the second operand of a product, where it is packed, and as an addend, where it is not.
  check(R"g(graph "g" {
  input %x : f32[16,16]
  const %n : i64[] = {3}
  const %w : f32[16,16] = random(9)
  %y : f32[16,16] = loop{states=1 counted=true next={2 [{matmul [0,1] 1 "m"},{pointwise{expr="add(x0,x1);tanh(t0)"} [2,1] 1 "a"}] [3]}}(%n, %x, %w) "loop"
  output %y
})g",
        list({{16, 16}}));
}

// A constant that a loop begins with, or takes slices of, is another tensor in each iteration: no kernel may pack it.
TEST(Regions, ConstantsThatChangeFromIterationToIteration) {
  for (const int width : {4, 16, 33}) {
    check(fmt::format(R"g(graph "g" {{
  input %x : f32[{0},{0}]
  const %n : i64[] = {{3}}
  const %s : f32[{0},{0}] = random(9)
  %y : f32[{0},{0}] = loop{{states=1 counted=true next={{2 [{{matmul [1,0] 1 "m"}},{{pointwise{{expr="tanh(x0)"}} [2] 1 "a"}}] [3]}}}}(%n, %s, %x) "loop"
  output %y
}})g",
                      width),
          list({{width, width}}));
    check(fmt::format(R"g(graph "g" {{
  input %x : f32[2,{0},{0}]
  const %n : i64[] = {{3}}
  const %w : f32[2,{0},3,{0}] = random(9)
  %y : f32[2,{0},{0}] = loop{{states=1 counted=true next={{2 [{{matmul [0,1] 1 "m"}},{{pointwise{{expr="tanh(x0)"}} [2] 1 "a"}}] [3]}} slices=[{{2 false -1}}]}}(%n, %x, %w) "loop"
  output %y
}})g",
                      width),
          list({{2, width, width}}));
  }
}

// Slices without gaps are read where they are: of states, of results, of other slices; those at odd addresses and
// those that leave the region are copied.
TEST(Regions, PartsOfValues) {
  check(R"g(graph "g" {
  input %x : f32[1,64]
  const %n : i64[] = {3}
  %y : f32[1,64], %a : f32[3,16], %b : f32[3,1,16] = loop{states=1 counted=true next={1 [{slice{start=[0,0] size=[1,32]} [0] 1 "first"},{slice{start=[0,32] size=[1,32]} [0] 1 "second"},{slice{start=[0,5] size=[1,32]} [0] 1 "odd"},{pointwise{expr="mul(x0,x1);add(t0,x2);tanh(t1)"} [1,2,3] 1 "p"},{slice{start=[0,16] size=[1,16]} [4] 1 "given"},{reshape{shape=[16]} [5] 1 "view"},{concat{axis=1} [4,2] 1 "next"},{slice{start=[0,16] size=[1,16]} [2] 1 "within"},{pointwise{expr="add(x0,x1)"} [8,5] 1 "sum"}] [7,6,9]} stacks=[{0 false 3},{0 false 3}]}(%n, %x) "loop"
  output %y
  output %a
  output %b
})g",
        list({{1, 64}}));
  // Rows of several, of which a slice of columns has gaps and one of rows has none.
  check(R"g(graph "g" {
  input %x : f32[4,16]
  const %n : i64[] = {2}
  %y : f32[4,16] = loop{states=1 counted=true next={1 [{slice{start=[2,0] size=[2,16]} [0] 1 "rows"},{slice{start=[0,0] size=[4,8] stride=[1,2]} [0] 1 "every"},{slice{start=[1,0] size=[2,16] stride=[2,1]} [0] 1 "apart"},{concat{axis=1} [2,2] 1 "wide"},{pointwise{expr="mul(x0,x1)"} [1,3] 1 "m"},{concat{axis=0} [5,1] 1 "tall"},{pointwise{expr="add(x0,x1);tanh(t0)"} [4,6] 1 "s"}] [7]}}(%n, %x) "loop"
  output %y
})g",
        list({{4, 16}}));
}

TEST(Regions, StatesThatChangePlaces) {
  check(R"g(graph "g" {
  input %a : f32[5]
  input %b : f32[5]
  const %n : i64[] = {5}
  const %c : f32[5] = random(4)
  %x : f32[5], %y : f32[5], %z : f32[5] = loop{states=3 counted=true next={3 [{reshape{shape=[5]} [2] 1 "v"}] [1,3,0]}}(%n, %a, %b, %c) "loop"
  output %x
  output %y
  output %z
})g",
        list({{5}, {5}}));
}

// Grows until its sum passes a limit; the branch is chosen anew in each iteration.
TEST(Regions, ConditionsWithinLoops) {
  const std::string branch =
      R"g(if{then={2 [{pointwise{expr="mul(x0,1.5)"} [0] 1 "t"}] [2]} otherwise={2 [{pointwise{expr="add(x0,x1)"} [0,1] 1 "e"}] [2]}})g";
  const std::string test =
      R"g({3 [{reduce{op=sum axes=[0]} [0] 1 "s"},{pointwise{expr="less(x0,x1)"} [3,2] 1 "l"}] [4]})g";
  const std::string next =
      R"g({3 [{reduce{op=sum axes=[0]} [0] 1 "s"},{pointwise{expr="greater(x0,30)"} [3] 1 "g"},{)g" + branch +
      R"g( [4,0,1] 1 "i"}] [5]})g";
  check(fmt::format(R"g(graph "g" {{
  input %x : f32[4]
  const %step : f32[4] = {{1,2,3,4}}
  const %limit : f32[] = {{150}}
  %y : f32[4] = loop{{states=1 test={} next={}}}(%x, %step, %limit) "loop"
  output %y
}})g",
                    test, next),
        list({{4}}));
}

TEST(Regions, BothBranchesOfAConditional) {
  for (const int holds : {0, 1}) {
    std::vector<HostTensor> inputs = list({{9, 17}});
    inputs.emplace_back(DataType::kBool, Dims{});
    inputs.back().view().storeInt(0, holds);
    check(R"g(graph "g" {
  input %x : f32[9,17]
  input %c : bool[]
  const %w : f32[17,17] = random(3)
  %y : f32[9,17] = if{then={2 [{matmul [0,1] 1 "m"}] [2]} otherwise={2 [] [0]}}(%c, %x, %w) "choice"
  output %y
})g",
          inputs);
  }
}

TEST(Regions, ConvolutionsOfManyChannels) {
  for (const int holds : {0, 1}) {
    std::vector<HostTensor> inputs = list({{1, 24, 9, 7}});
    inputs.emplace_back(DataType::kBool, Dims{});
    inputs.back().view().storeInt(0, holds);
    check(R"g(graph "g" {
  input %x : f32[1,24,9,7]
  input %c : bool[]
  const %w : f32[24,24,3,3] = random(3)
  const %b : f32[24] = random(4)
  %y : f32[1,24,9,7] = if{then={3 [{convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue="relu(x0)"} [0,1,2] 1 "c"}] [3]} otherwise={3 [{convolution{prePadding=[1,1] postPadding=[1,1] groups=1} [0,1] 1 "d"},{pointwise{expr="add(x0,x1)"} [3,0] 1 "r"}] [4]}}(%c, %x, %w, %b) "choice"
  output %y
})g",
          inputs);
  }
}

TEST(Regions, OpenExtents) {
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.log = &log;
  options.optimizationLevel = 0;
  options.profiles = {{{"x", {{1, 8}, {4, 8}, {9, 8}}}}};
  const auto graph = graph::parse(R"g(graph "g" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,8]
  const %w : f32[8,8] = random(3)
  const %h : f32[8] = random(5)
  %shape : i64[2] = shape(%x)
  %n : i64[1] = slice{start=[0] size=[1]}(%shape)
  %h1 : f32[1,8] = reshape{shape=[1,8]}(%h)
  %last : f32[1,8], %all : f32[N,1,8] = loop{states=1 counted=true next={3 [{matmul [0,2] 1 "m"},{pointwise{expr="add(x0,x1);tanh(t0)"} [3,1] 1 "a"}] [4,4]} slices=[{0 false -1}] stacks=[{0 false N}]}(%n, %h1, %x, %w) "loop"
  output %last
  output %all
})g");
  const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
  for (const int64_t n : {4, 1, 9}) {
    const auto inputs = list({{n, 8}});
    const auto got = run(engine, inputs, log);
    const auto expected = graph::evaluate(graph, views(inputs));
    for (size_t i = 0; i < got.size(); ++i) EXPECT_LT(relativeError(got[i].view(), expected[i].view()), 1e-5) << n;
  }
}

// What the execution of the graph ends with.
std::string errorOf(const std::string& text, const std::vector<HostTensor>& inputs) {
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.log = &log;
  options.optimizationLevel = 0;
  const auto engine = runtime::Engine::make(compile::build(graph::parse(text), options), {}, log);
  try {
    run(engine, inputs, log);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

TEST(Regions, TooManyIterationsAreAnError) {
  const auto error = errorOf(recurrent(3, 1, 4, true, "4"), list({{3, 1, 4}}));
  EXPECT_NE(error.find("iteration 3 reads beyond the 3 slices of a tensor 3x1x4"), std::string::npos) << error;
}

// A condition that always holds, and a count that is none.
TEST(Regions, LoopsThatDoNotEndAreEnded) {
  setenv("TENON_LOOP_LIMIT", "1000", 1);
  const char* const kLoop = R"g(graph "g" {{
  input %x : f32[4]
  input %n : i64[]
  %y : f32[4] = loop{{states=1 {} next={{{} [{{pointwise{{expr="mul(x0,0.5)"}} [0] 1 "t"}}] [{}]}}}}({}) "endless"
  output %y
}})g";
  const auto tested = fmt::format(fmt::runtime(kLoop),
                                  R"g(test={2 [{pointwise{expr="greater(x0,-1)"} [1] 1 "l"}] [2]})g", 2, 2, "%x, %n");
  const auto counted = fmt::format(fmt::runtime(kLoop), "counted=true", 1, 1, "%n, %x");
  for (const bool isCounted : {false, true}) {
    const auto& text = isCounted ? counted : tested;
    for (const int64_t count : {int64_t{1001}, INT64_MAX}) {
      auto inputs = list({{4}});
      inputs.push_back(HostTensor(DataType::kI64, Dims{}));
      inputs.back().view().storeInt(0, count);
      const auto error = errorOf(text, inputs);
      EXPECT_NE(error.find("loop: more than 1000 iterations, the most that a loop may have"), std::string::npos)
          << error;
      const auto parsed = graph::parse(text);
      EXPECT_THROW(graph::evaluate(parsed, views(inputs)), UserError);
      inputs.back().view().storeInt(0, isCounted ? 1000 : -1);
      EXPECT_EQ(errorOf(text, inputs), "none");
    }
  }
  unsetenv("TENON_LOOP_LIMIT");
}

}  // namespace
}  // namespace tenon::test
