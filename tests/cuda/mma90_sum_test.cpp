// Sums of two convolutions as one product by warpgroups: in each shape of its tiles, with strides and taps of either,
// at extents that are no whole ones; which composites are none, and what is proposed for those that are.
#include "backends/cuda/kernels/mma90/mma90_sum.h"

#include <algorithm>

#include "backends/cuda/driver/code_cache.h"
#include "compile/assignment.h"
#include "cuda/forced_shape.h"

namespace tenon::test {
namespace {

using backends::cuda::Mma90Shape;

// Of one convolution: image and weights; attributes.
struct Part {
  std::string x, w, attributes;
};
struct Sum {
  Part projection, main;
  std::string y;
  std::string type = "f16";
  std::string epilogue = "add(x0,x1);relu(t0)";  // x1: the projection
  std::string more;                              // operands of the epilogue behind the projection, "%r"
  std::string before;                            // in front of it
  bool biasIsOperand = false;                    // of the projection's epilogue
};

std::string textOf(const Sum& sum) {
  const auto columns = sum.main.w.substr(0, sum.main.w.find(','));
  const bool reads = !sum.more.empty() || !sum.before.empty();
  // The operands of the main part: h, w and bias are inputs 3 to 5.
  int next = 6;
  std::string operands, names;
  for (const auto& one : {sum.before, std::string("-1"), sum.more}) {
    if (one.empty()) continue;
    if (one == "-1") operands += ",-1";
    else operands += fmt::format(",{}", next++), names += ", " + one;
  }
  return fmt::format(R"g(graph "sum" {{
  input %x : {type}[{x}]
  input %h : {type}[{h}]
{residual}
  const %v : {type}[{v}] = random(3)
  const %a : {type}[{columns}{bias}] = random(4)
  const %w : {type}[{w}] = random(5)
  const %b : {type}[{columns}] = random(6)
  %y : {type}[{y}] = composite{{parts=[{{convolution{{{projection} {biased}}} [0,1,2]}},{{convolution{{{main} hasBias=true epilogue="{epilogue}"}} [3,4,5{operands}]}}] outputs=[1]}}(%x, %v, %a, %h, %w, %b{names}) "n"
  output %y
}})g",
                     fmt::arg("type", sum.type), fmt::arg("x", sum.projection.x), fmt::arg("h", sum.main.x),
                     fmt::arg("residual", reads ? fmt::format("  input %r : {}[{}]", sum.type, sum.y) : ""),
                     fmt::arg("v", sum.projection.w), fmt::arg("columns", columns), fmt::arg("w", sum.main.w),
                     fmt::arg("y", sum.y), fmt::arg("projection", sum.projection.attributes),
                     fmt::arg("main", sum.main.attributes), fmt::arg("epilogue", sum.epilogue),
                     fmt::arg("operands", operands), fmt::arg("bias", sum.biasIsOperand ? ",1,1" : ""),
                     fmt::arg("biased", sum.biasIsOperand ? "epilogue=\"add(x0,x1)\"" : "hasBias=true"),
                     fmt::arg("names", names));
}

std::string missing() { return backends::cuda::mma90Missing(); }

const char* const kPad = "prePadding=[1,1] postPadding=[1,1]";

void expectSums(const Sum& sum, std::initializer_list<const char*> shapes, double most = 1.5e-3) {
  const auto graph = graph::parse(textOf(sum));
  for (const char* shape : shapes)
    EXPECT_LE(errorOfShape(graph, shape), most) << shape << ", " << sum.projection.w << " and " << sum.main.w;
}

TEST_F(OnGpu, SumsOfConvolutionsByWarpgroups) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  // Steps: one of 40 channels behind one of 64 and one of 8.
  expectSums({{"3,40,9,7", "72,40,1,1", ""}, {"3,72,9,7", "72,72,1,1", ""}, "3,72,9,7"},
             {"8x1x1,1,3", "40x1x1,1,3", "16x2x1,2,2", "24x1x2,1,3", "64x4x1,3,1"});
  // Whole steps, in stages of two: two behind four.
  expectSums({{"3,128,18,13", "72,128,1,1", "strides=[2,2]"}, {"3,256,9,7", "72,256,1,1", ""}, "3,72,9,7"},
             {"40x1x1,1,3x2", "64x1x2,1,3x2", "24x1x1,3,1x2", "24x1x1,3,2x1", "16x1x2,1,2x2"});
  // Windows of nine taps behind pixels, of the projection with strides.
  expectSums({{"3,64,18,13", "72,64,1,1", "strides=[2,2]"}, {"3,72,9,7", "72,72,3,3", kPad}, "3,72,9,7"},
             {"40x1x1,1,3", "24x2x2,3,4", "64x1x1,1,4"});
  // Pixels behind windows, and windows behind windows.
  expectSums({{"3,40,9,7", "72,40,3,3", kPad}, {"3,64,9,7", "72,64,1,1", ""}, "3,72,9,7"},
             {"40x1x2,2,4", "32x1x1,1,5"});
  expectSums({{"2,40,11,8", "136,40,3,3", "strides=[2,1] prePadding=[1,0] postPadding=[0,2]"},
              {"2,48,11,16", "136,48,2,2", "strides=[2,2] dilations=[2,1] prePadding=[1,0]"},
              "2,136,5,8"},
             {"40x1x1,1,3", "16x2x2,3,4", "80x1x1,1,2"});
  // Strides of the main part, which is then windows of one tap.
  expectSums({{"2,64,5,4", "64,64,1,1", ""}, {"2,64,9,7", "64,64,1,1", "strides=[2,2]"}, "2,64,5,4"}, {"40x1x1,1,2"});
}

TEST_F(OnGpu, SumsOfConvolutionsByWarpgroupsOfManyTiles) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  expectSums({{"3,40,9,7", "72,40,1,1", ""}, {"3,72,9,7", "72,72,1,1", ""}, "3,72,9,7"},
             {"16x1x1,1,2t", "32x1x1,1,8t", "48x2x1,2,3t", "32x1x1,2,3c", "16x2x1,1,2c"});
  expectSums({{"3,128,18,13", "200,128,1,1", "strides=[2,2]"}, {"3,256,9,7", "200,256,1,1", ""}, "3,200,9,7"},
             {"32x1x1,1,3t", "64x2x1,2,5t", "32x1x1,2,4c", "96x1x1,1,2c"});
  expectSums({{"3,64,18,13", "72,64,1,1", "strides=[2,2]"}, {"3,72,9,7", "72,72,3,3", kPad}, "3,72,9,7"},
             {"32x1x1,1,3t", "48x2x1,2,3t", "32x1x1,2,3c"});
  expectSums({{"3,40,9,7", "72,40,3,3", kPad}, {"3,64,9,7", "72,64,1,1", ""}, "3,72,9,7"},
             {"32x1x1,1,2t", "32x1x1,2,3c"});
  // More tiles than blocks; rows of y that are no whole packs.
  expectSums({{"2,64,40,30", "136,64,1,1", "strides=[2,2]"}, {"2,72,20,15", "136,72,1,1", ""}, "2,136,20,15"},
             {"16x1x1,1,4t", "16x1x1,2,3t"});
  expectSums({{"3,40,9,7", "67,40,1,1", ""}, {"3,72,9,7", "67,72,1,1", ""}, "3,67,9,7"},
             {"32x1x1,1,2t", "32x1x1,2,3c"});
}

// What is added beside the projection: in front of it and behind it, and another type of halves; one row; rows of y
// that are no whole packs.
TEST_F(OnGpu, SumsOfConvolutionsByWarpgroupsWithOtherOperands) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const Part projection{"3,64,18,13", "72,64,1,1", "strides=[2,2]"}, main{"3,72,9,7", "72,72,1,1", ""};
  for (const char* shape : {"40x1x1,1,3", "32x1x1,1,2t", "32x1x1,2,3c"}) {
    expectSums({projection, main, "3,72,9,7", "f16", "add(x0,x1);add(t0,x2);relu(t1)", "%r", ""}, {shape});
    expectSums({projection, main, "3,72,9,7", "f16", "add(x0,x1);add(t0,x2);relu(t1)", "", "%r"}, {shape});
    expectSums({projection, main, "3,72,9,7", "f16", "add(x1,x0);sigmoid(t0);mul(t0,t1);add(t2,x2)", "%r", ""},
               {shape});
    expectSums({projection, main, "3,72,9,7", "bf16"}, {shape}, 1.2e-2);
    Sum sum{projection, main, "3,72,9,7"};
    sum.biasIsOperand = true;
    expectSums(sum, {shape});
  }
  expectSums({{"1,64,1,1", "136,64,1,1", ""}, {"1,40,1,1", "136,40,1,1", ""}, "1,136,1,1"},
             {"8x1x1,2,1", "16x1x1,1,2t"});
  expectSums({{"3,40,9,7", "67,40,1,1", ""}, {"3,72,9,7", "67,72,1,1", ""}, "3,67,9,7"}, {"40x1x1,1,3", "16x2x1,1,2"});
}

// A network whose batch is open, joined and apart.
TEST_F(OnGpu, SumsOfConvolutionsInNetworks) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const Variable on("TENON_CUDA_WARPGROUPS", "1");
  const auto graph = graph::parse(R"g(graph "block" {
  symbol "N" = extent(%x, 0)
  input %x : f16[N,64,13,10]
  const %u : f16[40,64,3,3] = random(1)
  const %v : f16[72,64,1,1] = random(2)
  const %w : f16[72,40,1,1] = random(3)
  const %a : f16[72] = random(4)
  const %b : f16[72] = random(5)
  %h : f16[N,40,7,5] = convolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1] epilogue="relu(x0)"}(%x, %u) "first" from("first")
  %p : f16[N,72,7,5] = convolution{strides=[2,2] hasBias=true}(%x, %v, %a) "projection" from("projection")
  %y : f16[N,72,7,5] = convolution{hasBias=true epilogue="add(x0,x1);relu(t0)"}(%h, %w, %b, %p) "sum" from("sum")
  output %y
})g");
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  options.optimizationLevel = 0;  // by rank
  options.profiles = {{{"x", {{1, 64, 13, 10}, {3, 64, 13, 10}, {5, 64, 13, 10}, {}, {}, {}}}}};
  const auto hasJoined = [&] {
    const auto plan = compile::build(graph, options);
    const auto& steps = plan.programs.at(0).steps;
    return std::any_of(steps.begin(), steps.end(), [](const auto& step) { return step.name == "projection + sum"; });
  };
  EXPECT_TRUE(hasJoined());
  for (const int64_t batch : {1, 3, 5}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF16, {batch, 64, 13, 10}, 7));
    const auto got = runOnGpu(graph, inputs, options);
    const auto expected = graph::evaluate(graph, views(inputs));
    EXPECT_LE(relativeError(got.outputs[0].view(), expected[0].view()), 2e-3) << batch;
  }
  const Variable apart("TENON_DISABLE", "join_projection");
  EXPECT_FALSE(hasJoined());
}

std::string refusalOf(const Sum& sum) {
  const auto graph = graph::parse(textOf(sum));
  return backends::cuda::Mma90Sum(graph.node(graph.order()[0]).op).refusal;
}

// The projection is to be added to the sums before anything else happens to them, and nothing may read it again.
TEST(Mma90, SumsOfConvolutionsAreThoseThatAddFirst) {
  const Part part{"1,64,5,4", "64,64,1,1", ""};
  const auto refused = [&](const char* epilogue, const char* more = "", const char* before = "") {
    return refusalOf({part, part, "1,64,5,4", "f16", epilogue, more, before});
  };
  EXPECT_EQ(refused("add(x0,x1)"), "");
  EXPECT_EQ(refused("add(x1,x0);relu(t0)"), "");
  EXPECT_EQ(refused("add(x0,x1);add(t0,x2)", "", "%r"), "");
  EXPECT_EQ(refused("add(x0,x1);sigmoid(t0);mul(t0,t1)"), "");
  for (const char* epilogue : {"mul(x0,x1)", "sub(x0,x1)", "relu(x0);add(t0,x1)", "add(x0,x1);mul(t0,x1)", "add(x0,x0)",
                               "add(x0,x1);mul(t0,x0)", "relu(x1);add(t0,x0)"})
    EXPECT_NE(refused(epilogue), "") << epilogue;
  EXPECT_NE(refused("add(x0,x1);mul(t0,x2)", "", "%r"), "");
  EXPECT_NE(refused("add(x0,x1);add(t0,x2);mul(t0,t1)", "", "%r"), "");
}

const compile::Tactic& sumTactic() {
  for (const auto* tactic : compile::tacticsOf("cuda")) {
    if (tactic->name() == "cuda.mma90_sum") return *tactic;
  }
  throw std::logic_error("no tactic cuda.mma90_sum");
}

// Each tile that is proposed is one that its record can be read with; stages hold steps of one product only.
TEST(Mma90, ProposesSumsOfConvolutions) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  const Variable on("TENON_CUDA_WARPGROUPS", "1");
  struct Case {
    Sum sum;
    int64_t firstSteps;
    bool isDeep;  // whether some stage has several steps
  };
  const Case cases[] = {
      {{{"8,256,56,56", "512,256,1,1", "strides=[2,2]"}, {"8,128,28,28", "512,128,1,1", ""}, "8,512,28,28"}, 2, true},
      {{{"1,64,56,56", "256,64,1,1", ""}, {"1,64,56,56", "256,64,1,1", ""}, "1,256,56,56"}, 1, false},
      {{{"1,72,56,56", "256,72,1,1", ""}, {"1,128,56,56", "256,128,1,1", ""}, "1,256,56,56"}, 2, false}};
  for (const auto& [sum, firstSteps, isDeep] : cases) {
    const auto graph = graph::parse(textOf(sum));
    const auto problem = compile::makeProblem(graph, graph.node(graph.order()[0]), {});
    ASSERT_TRUE(sumTactic().supports(problem)) << sumTactic().supports(problem).reason;
    size_t deep = 0, many = 0, compiled = 0;
    for (const auto& candidate : sumTactic().candidates(problem)) {
      const auto shape = Mma90Shape::parse(candidate.variant);
      const auto record = sumTactic().build(problem, candidate);
      const auto read = backends::cuda::Mma90Sum(problem.op).recordOf(record);
      EXPECT_EQ(read.weights.ownSteps(), firstSteps);
      EXPECT_EQ(firstSteps % shape.depth, 0) << shape.text();
      deep += shape.depth > 1;
      many += shape.isPersistent();
      if (compiled++ >= 2) continue;
      EXPECT_FALSE(backends::cuda::compile(read.code().source(), 90).empty()) << shape.text();
    }
    EXPECT_EQ(deep > 0, isDeep);
    EXPECT_GT(many, 0u);
    EXPECT_GT(compiled, many);
  }
}

TEST(Mma90, RefusesSumsOfConvolutionsThatDoNotFit) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const auto supports = [](const Sum& sum) {
    const Variable on("TENON_CUDA_WARPGROUPS", "1");
    const auto graph = graph::parse(textOf(sum));
    return static_cast<bool>(sumTactic().supports(compile::makeProblem(graph, graph.node(graph.order()[0]), {})));
  };
  const Part part{"1,64,5,4", "64,64,1,1", ""};
  EXPECT_TRUE(supports({part, part, "1,64,5,4"}));
  EXPECT_FALSE(supports({part, part, "1,64,5,4", "f32"}));
  EXPECT_FALSE(supports({{"1,60,5,4", "64,60,1,1", ""}, part, "1,64,5,4"}));
  EXPECT_FALSE(supports({part, {"1,60,5,4", "64,60,1,1", ""}, "1,64,5,4"}));
  EXPECT_FALSE(supports({{"1,24,5,4", "64,24,3,3", kPad}, part, "1,64,5,4"}));
  EXPECT_FALSE(supports({{"1,64,5,4", "64,32,1,1", "groups=2"}, part, "1,64,5,4"}));
  EXPECT_FALSE(supports({part, {"1,64,5,4", "64,32,1,1", "groups=2"}, "1,64,5,4"}));
}

}  // namespace
}  // namespace tenon::test
