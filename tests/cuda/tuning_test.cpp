// What a build measures and compares on the GPU, and tensors that lie in host memory while kernels read them.
#include <algorithm>
#include <cmath>
#include <set>

#include "backends/cuda/kernels/mma90/mma90.h"
#include "compile/assignment.h"
#include "compile/proposals.h"
#include "compile/stages.h"
#include "compile/tune/profiler.h"
#include "compile/tune/timing_cache.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

constexpr const char* kWanted = R"g(pointwise{expr="sqrt(x0)"})g";
constexpr const char* kWrong = R"g(pointwise{expr="mul(x0,x0)"})g";

// A candidate of the wanted problem that computes `computed`.
struct Trial {
  Trial(const std::string& computed, Layout format)
      : wanted(ops::Operator::parse(kWanted)), other(ops::Operator::parse(computed)) {
    const compile::Problem made = problemOf(other);
    const graph::Node node{other, "node", {}, {}, {}, {}};
    compile::BuildOptions options;
    auto proposals = compile::propose(node, made, backends::cuda::cudaDevice(), options);
    for (auto& proposal : proposals.list) {
      if (proposal.option.candidate.tactic != "cuda.pointwise" || proposal.option.candidate.outputs[0] != format)
        continue;
      compile::makeReady(made, proposal);
      option = proposal.option;
    }
  }
  static compile::Problem problemOf(const ops::Operator& op) {
    const Dims dims = {2, 5, 3, 7};
    return {op, {{DataType::kF16, dims, nullptr}}, {{DataType::kF16, dims, nullptr}}, {}};
  }
  compile::Measurement measure(compile::Profiler& profiler) const {
    return profiler.measure(problemOf(wanted), option.candidate, option.record, option.nativeCode,
                            std::numeric_limits<double>::infinity());
  }
  void trust(compile::Profiler& profiler) const {
    EXPECT_LT(profiler.trust(problemOf(wanted), option.candidate, option.record, option.nativeCode), 100);
  }

  ops::Operator wanted;
  ops::Operator other;
  compile::Option option;
};

TEST_F(OnGpu, TuningComparesResultsInEachFormat) {
  RecordingLog log;
  compile::Stages stages;
  const auto profiler = compile::makeDeviceProfiler(backends::cuda::cudaDevice(), 1, stages, log);
  const Trial right(kWanted, Layout::kLinear);
  right.trust(*profiler);
  EXPECT_EQ(right.measure(*profiler).failure, "");
  EXPECT_EQ(Trial(kWanted, Layout::kChannelsLast).measure(*profiler).failure, "");
  for (const Layout format : {Layout::kLinear, Layout::kChannelsLast}) {
    const auto measured = Trial(kWrong, format).measure(*profiler);
    EXPECT_NE(measured.failure.find("differs from that of the reference candidate"), std::string::npos)
        << measured.failure;
    EXPECT_TRUE(measured.lasting);
    EXPECT_TRUE(measured.refused) << "it is no warning";
  }
  EXPECT_NE(stages.table().find("checking results"), std::string::npos);
}

// Where our products by warpgroups are faster than any engine, cuDNN is not asked, with TF32 as in halves.
TEST_F(OnGpu, TuningAsksCudnnForLargeProductsAlone) {
  if (const auto missing = backends::cuda::mma90Missing(); !missing.empty()) GTEST_SKIP() << missing;
  const auto reasonOf = [](const char* type, int64_t batch, bool tf32) {
    const auto graph = graph::parse(fmt::format(R"g(graph "g" {{
  input %x : {0}[{1},64,56,56]
  const %w : {0}[256,64,1,1] = random(5)
  const %b : {0}[256,1,1] = random(6)
  %y : {0}[{1},256,56,56] = convolution{{epilogue="add(x0,x1);relu(t0)"}}(%x, %w, %b) "n"
  output %y
}})g",
                                                type, batch));
    compile::BuildOptions options;
    options.tf32 = tf32;
    auto problem = compile::makeProblem(graph, graph.node(graph.order()[0]), {}, options);
    problem.more = 0;
    for (const auto* tactic : compile::tacticsOf("cuda")) {
      if (tactic->name() == "cuda.cudnn_convolution") return tactic->supports(problem).reason;
    }
    return std::string("there is no such tactic");
  };
  const std::string faster = "kernels of our own are faster";
  EXPECT_EQ(reasonOf("f16", 1, false), faster);
  EXPECT_EQ(reasonOf("f32", 1, true), faster);
  EXPECT_NE(reasonOf("f32", 1, false), faster);
  EXPECT_NE(reasonOf("f32", 512, true), faster);
}

TEST_F(OnGpu, TuningRemembersInTheCache) {
  compile::TimingCache cache;
  size_t entries = 0;
  for (int round = 0; round < 2; ++round) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cuda";
    options.log = &log;
    options.timingCache = &cache;
    compile::build(graph::parse(R"g(graph "g" {
      input %x : f32[2,8,9,9]
      const %w : f32[8,1,3,3] = random(1)
      %c : f32[2,8,7,7] = convolution{groups=8}(%x, %w) "conv"
      %s : f32[2,8,7,7] = softmax{axis=1}(%c) "soft"
      output %s
    })g"),
                   options);
    EXPECT_TRUE(log.contains("Time by stage"));
    if (round == 0) {
      entries = cache.size();
      EXPECT_GT(entries, 2u);
    } else {
      EXPECT_TRUE(log.contains("Tactics: 0 timed"));
      EXPECT_EQ(cache.size(), entries);
    }
  }
}

// As fast as each other, so that each has rivals, however busy the machine was that measured them.
void makeEquallyFast(compile::TimingCache& cache) {
  constexpr double kSeconds = 1e-5;
  for (const auto& key : cache.keys()) {
    if (std::isfinite(*cache.find(key))) cache.insert(key, kSeconds);
  }
}

// Equal products together, the result still right; a second build measures nothing and gives the same bytes.
TEST_F(OnGpu, TuningFinishesWithTheWholeEngine) {
  const auto graph = graph::parse(R"g(graph "g" {
    input %x : f32[32,64]
    const %w : f32[64,64] = random(1)
    const %v : f32[64,64] = random(2)
    %a : f32[32,64] = matmul{}(%x, %w) "a"
    %b : f32[32,64] = softmax{axis=1}(%a) "b"
    %c : f32[32,64] = matmul{}(%b, %v) "c"
    %y : f32[32,64] = softmax{axis=1}(%c) "y"
    output %y
  })g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {32, 64}, 1));
  const auto expected = graph::evaluate(graph, views(inputs));
  compile::TimingCache cache;
  compile::BuildOptions options;
  options.device = "cuda";
  options.timingCache = &cache;
  options.optimizationLevel = 4;
  options.wholeTrials = 0;
  RecordingLog ofTimes;
  options.log = &ofTimes;
  (void)compile::build(graph, options);
  makeEquallyFast(cache);
  options.wholeTrials = compile::BuildOptions().wholeTrials;
  std::vector<std::byte> first;
  for (int round = 0; round < 2; ++round) {
    RecordingLog log;
    options.log = &log;
    const auto bytes = runtime::Engine::make(compile::build(graph, options), {}, log)->serialize();
    EXPECT_TRUE(log.contains("Whole engine: "));
    EXPECT_EQ(log.contains("by itself (from the timing cache)"), round == 1);
    EXPECT_LE(relativeError(runOnGpu(graph, inputs, options).outputs[0].view(), expected[0].view()), 1e-5);
    if (round == 0) {
      first.assign(bytes.begin(), bytes.end());
      continue;
    }
    EXPECT_TRUE(log.contains("Tactics: 0 timed"));
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), first.begin(), first.end()));
  }
}

// From level 3 on cuBLASLt is asked for what its heuristic does not offer; of many, one run each says which are
// measured.
TEST_F(OnGpu, TuningSearchesProducts) {
  const auto op = ops::Operator::parse("matmul{}");
  const auto weights = graph::Constant::own(HostTensor(DataType::kF16, {256, 128}));
  const auto offered = [&](size_t more) {
    compile::Problem problem{op,
                             {{DataType::kF16, {128, 256}, nullptr}, {DataType::kF16, {256, 128}, weights}},
                             {{DataType::kF16, {128, 128}, nullptr}},
                             {}};
    problem.more = more;
    std::set<std::string> variants;
    const graph::Node node{op, "node", {}, {}, {}, {}};
    for (const auto& proposal : compile::propose(node, problem, backends::cuda::cudaDevice(), {}).list) {
      if (proposal.option.candidate.tactic != "cuda.cublaslt_matmul") continue;
      EXPECT_TRUE(variants.insert(proposal.option.candidate.variant).second) << proposal.option.candidate.variant;
    }
    return variants;
  };
  const auto few = offered(0);
  const auto many = offered(1000);
  const auto some = offered(10);
  ASSERT_FALSE(few.empty());
  EXPECT_EQ(some.size(), few.size() + 10);
  EXPECT_GT(many.size(), few.size() + 30);
  for (const auto& variant : few) EXPECT_TRUE(many.contains(variant)) << variant;
  for (const auto& variant : some) EXPECT_TRUE(many.contains(variant)) << variant;
  if (!emulated()) return;
  const auto has = [&](const std::string& settings) { return many.contains("whole,exact," + settings); };
  EXPECT_TRUE(has("0:5,3,1,0,0,0,0,2"));   // another tile, stages and cluster
  EXPECT_TRUE(has("0:0,0,4,2,0,0,0,0"));   // a split of the inner extent
  EXPECT_FALSE(has("0:6,3,1,0,0,0,0,2"));  // of which the library says that it cannot
}

TEST_F(OnGpu, TuningMeasuresTheBestOfMany) {
  const auto graph = graph::parse(R"g(graph "g" {
    input %x : f16[32,64]
    const %w : f16[64,64] = random(1)
    %y : f16[32,64] = matmul{}(%x, %w) "a"
    output %y
  })g");
  size_t entries[2] = {};
  for (const int level : {2, 4}) {
    RecordingLog log;
    compile::TimingCache cache;
    compile::BuildOptions options;
    options.device = "cuda";
    options.log = &log;
    options.timingCache = &cache;
    options.optimizationLevel = level;
    (void)compile::build(graph, options);
    entries[level / 4] = cache.size();
    RecordingLog again;
    options.log = &again;
    options.errorOnTimingCacheMiss = true;
    EXPECT_NO_THROW((void)compile::build(graph, options));
    EXPECT_TRUE(again.contains("Tactics: 0 timed"));
  }
  EXPECT_GT(entries[1], entries[0] + 20);
}

// Whole runs of memory are places on a GPU too, where they begin at 256 bytes; what has another home is copied.
TEST_F(OnGpu, TuningLeavesPlacesInsteadOfCopies) {
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  RecordingLog log;
  options.log = &log;
  options.filter = [](const graph::Node&, std::vector<compile::Candidate> candidates) {
    const auto isOther = [](const auto& candidate) { return candidate.outputs[0] != Layout::kLinear; };
    if (!std::all_of(candidates.begin(), candidates.end(), isOther)) std::erase_if(candidates, isOther);
    return candidates;
  };
  const auto graph = graph::parse(R"g(graph "g" {
    input %x : f32[1,4,8,8]
    %s : f32[1,2,8,8] = slice{start=[0,1,0,0] size=[1,2,8,8]}(%x) "s"
    %a : f32[1,2,8,8] = softmax{axis=3}(%s) "a"
    %b : f32[1,4,8,8] = softmax{axis=2}(%x) "b"
    %y : f32[1,10,8,8] = concat{axis=1}(%x, %a, %b) "y"
    %z : f32[1,10,8,8] = softmax{axis=1}(%y) "z"
    output %z
  })g");
  int shared = 0;
  int copies = 0;
  const auto plan = compile::build(graph, options);
  for (const auto& step : plan.programs.at(0).steps) {
    shared += step.kind == plan::StepKind::kView;
    copies += step.kind == plan::StepKind::kCopy;
  }
  EXPECT_EQ(shared, 2);
  EXPECT_EQ(copies, 1) << "of the input";
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {1, 4, 8, 8}, 1));
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto got = runOnGpu(graph, inputs, options).outputs;
  EXPECT_LE(relativeError(got.at(0).view(), expected.at(0).view()), 1e-5);
}

TEST_F(OnGpu, ShapeTensorsThatKernelsReadAreCopied) {
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  options.log = &log;
  const auto graph = graph::parse(R"g(graph "g" {
    input %s : i64[3] host
    input %x : i64[3]
    %y : i64[3] = pointwise{expr="add(x0,x1)"}(%s, %x) "add"
    output %y
  })g");
  const auto plan = compile::build(graph, options);
  const auto& program = plan.programs.at(0);
  ASSERT_EQ(program.steps.size(), 2u);
  EXPECT_EQ(program.steps[0].kind, plan::StepKind::kCopy);
  const auto& given = program.tensors.at(static_cast<size_t>(program.steps[0].inputs[0]));
  const auto& read = program.tensors.at(static_cast<size_t>(program.steps[0].outputs[0]));
  EXPECT_TRUE(given.onHost);
  EXPECT_FALSE(read.onHost);

  const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
  runtime::Context context(engine, {}, log);
  std::vector<int64_t> shape{3, 5, 7};
  HostTensor x(DataType::kI64, {3});
  HostTensor y(DataType::kI64, {3});
  for (int64_t i = 0; i < 3; ++i) x.view().storeInt(i, 100 * i);
  const DeviceTensor onDevice(engine->device(), x.view());
  const DeviceTensor result(engine->device(), y.view());
  context.setAddress(0, shape.data());
  context.setAddress(1, onDevice.data());
  context.setAddress(2, result.data());
  EXPECT_TRUE(context.inferShapes().empty());
  for (int round = 0; round < 3; ++round) {  // the later ones may be replays
    shape[1] = 5 + round;
    context.enqueue(nullptr);
    result.readBack();
    EXPECT_EQ(y.view().loadInt(0), 3);
    EXPECT_EQ(y.view().loadInt(1), 105 + round);
    EXPECT_EQ(y.view().loadInt(2), 207);
  }
}

}  // namespace
}  // namespace tenon::test
