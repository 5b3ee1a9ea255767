// Graphs through passes, tuner, plan file and runtime, against their reference.
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

constexpr const char* kSmallNet = R"g(graph "small" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,3,16,16]
  const %w1 : f32[8,3,3,3] = random(1)
  const %b1 : f32[8] = random(2)
  const %s1 : f32[1,8,1,1] = random(3)
  const %w2 : f32[8,8,3,3] = random(4)
  const %w3 : f32[8,10] = random(5)
  const %b3 : f32[1,10] = random(6)
  %c1 : f32[N,8,16,16] = convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true}(%x, %w1, %b1) "conv1" from("conv1")
  %m1 : f32[N,8,16,16] = pointwise{expr="mul(x0,x1)"}(%c1, %s1) "scale" from("scale")
  %r1 : f32[N,8,16,16] = pointwise{expr="relu(x0)"}(%m1) "relu1" from("relu1")
  %c2 : f32[N,8,16,16] = convolution{prePadding=[1,1] postPadding=[1,1]}(%r1, %w2) "conv2" from("conv2")
  %a2 : f32[N,8,16,16] = pointwise{expr="add(x0,x1)"}(%c2, %r1) "sum" from("sum")
  %r2 : f32[N,8,16,16] = pointwise{expr="relu(x0)"}(%a2) "relu2" from("relu2")
  %p : f32[N,8,8,8] = pooling{type=max window=[2,2] strides=[2,2]}(%r2) "pool" from("pool")
  %g : f32[N,8,1,1] = reduce{op=avg axes=[2,3] keepDims=true}(%p) "mean" from("mean")
  %f : f32[N,8] = reshape{shape=[N,8]}(%g) "flatten" from("flatten")
  %y : f32[N,10] = matmul(%f, %w3) "fc" from("fc")
  %z : f32[N,10] = pointwise{expr="add(x0,x1)"}(%y, %b3) "bias" from("bias")
  %q : f32[N,10] = softmax{axis=1}(%z) "softmax" from("softmax")
  output %q
})g";

compile::BuildOptions dynamicBatch() {
  compile::BuildOptions options;
  plan::InputRange range;
  range.min = {1, 3, 16, 16};
  range.opt = {2, 3, 16, 16};
  range.max = {5, 3, 16, 16};
  options.profiles = {{{"x", range}}};
  return options;
}

TEST(EndToEnd, SmallNetAtSeveralBatches) {
  for (const int64_t batch : {1, 2, 3, 5}) expectMatchesReference(kSmallNet, {{batch, 3, 16, 16}}, dynamicBatch());
}

TEST(EndToEnd, LevelZeroMeasuresNothing) {
  auto options = dynamicBatch();
  options.optimizationLevel = 0;
  expectMatchesReference(kSmallNet, {{2, 3, 16, 16}}, options);
}

// A 5x5 convolution that copies its padded input: 4 channels of 20x20 floats.
constexpr const char* kPaddedNet = R"g(graph "padded" {
  input %x : f32[1,4,16,16]
  const %w : f32[8,4,5,5] = random(1)
  %y : f32[1,8,16,16] = convolution{prePadding=[2,2] postPadding=[2,2]}(%x, %w) "wide"
  output %y
})g";

TEST(EndToEnd, WorkspaceLimitHoldsAtEveryLevelAndFromTheCache) {
  constexpr uint64_t kNeeds = 4 * 20 * 20 * sizeof(float);
  compile::TimingCache cache;
  for (const int level : {0, 3, 3}) {
    SCOPED_TRACE(level);
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cpu";
    options.log = &log;
    options.optimizationLevel = level;
    options.timingCache = &cache;
    options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.name == "wide")
        std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic != "cpu.convolution"; });
      return candidates;
    };
    options.workspaceLimit = kNeeds;
    EXPECT_NO_THROW(compile::build(graph::parse(kPaddedNet), options));
    options.workspaceLimit = kNeeds - 1;
    try {
      compile::build(graph::parse(kPaddedNet), options);
      FAIL() << "built with less workspace than the only candidate needs";
    } catch (const Unsupported& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("node 'wide'"), std::string::npos) << message;
      EXPECT_NE(message.find(fmt::format("needs {} bytes of workspace, the limit is {}", kNeeds, kNeeds - 1)),
                std::string::npos)
          << message;
    }
  }
}

TEST(EndToEnd, SameCacheGivesTheSamePlan) {
  RecordingLog log;
  auto options = dynamicBatch();
  compile::TimingCache cache;
  options.device = "cpu";
  options.log = &log;
  options.timingCache = &cache;
  const auto graph = graph::parse(kSmallNet);
  const auto first = runtime::Engine::make(compile::build(graph, options), {}, log)->serialize();
  EXPECT_GT(cache.size(), 0u);
  options.errorOnTimingCacheMiss = true;
  const auto second = runtime::Engine::make(compile::build(graph, options), {}, log)->serialize();
  EXPECT_EQ(first, second);
}

TEST(EndToEnd, OutputsThatAreInputsConstantsAndEachOther) {
  expectMatchesReference(R"g(graph "odd" {
    input %x : f32[2,3]
    const %k : f32[4] = random(1)
    %a : f32[2,3] = pointwise{expr="identity(x0)"}(%x) "copy"
    %b : f32[6] = reshape{shape=[6]}(%x) "view"
    %c : f32[2,3] = pointwise{expr="neg(x0)"}(%x) "neg"
    %d : f32[3,2] = reshape{shape=[3,2]}(%c) "view2"
    output %a
    output %b
    output %k
    output %c
    output %d
    output %c as "again"
  })g");
}

TEST(EndToEnd, EmptyTensors) {
  expectMatchesReference(R"g(graph "empty" {
    input %x : f32[0,3,8,8]
    const %w : f32[4,3,3,3] = random(1)
    %c : f32[0,4,6,6] = convolution(%x, %w) "conv"
    %r : f32[0,4,6,6] = pointwise{expr="relu(x0)"}(%c) "relu"
    output %r
  })g");
}

TEST(EndToEnd, RefusalListsEveryCandidate) {
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.log = &log;
  options.filter = [](const graph::Node&, std::vector<compile::Candidate>) {
    return std::vector<compile::Candidate>{};
  };
  const auto graph = graph::parse(R"g(graph "g" {
    input %x : f32[2,3]
    %y : f32[2,3] = pointwise{expr="relu(x0)"}(%x) "act"
    output %y
  })g");
  try {
    compile::build(graph, options);
    FAIL() << "the build should have been refused";
  } catch (const Unsupported& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("node 'act'"), std::string::npos) << message;
    EXPECT_NE(message.find("it computes convolutions"), std::string::npos) << message;
    EXPECT_NE(message.find("the algorithm filter rejected all"), std::string::npos) << message;
  }
}

TEST(EndToEnd, ProfileErrorsNameTheInput) {
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.log = &log;
  const auto graph = graph::parse(kSmallNet);
  try {
    compile::build(graph, options);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("dynamic input 'x'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenon::test
