// Steps with several kernels on a GPU: packed weights, and executions that are recorded, at extents to and fro.
#include "support/tactic_ranges.h"

#include "cuda/on_gpu.h"
#include "runtime/engine_parts.h"

namespace tenon::test {
namespace {

constexpr const char* kNet = R"g(graph "open" {
  symbol "N" = extent(%x, 0)
  input %x : f16[N,64]
  const %w1 : f16[64,128] = random(1)
  const %w2 : f16[128,72] = random(2)
  %y : f16[N,128] = matmul(%x, %w1) "first" from("first")
  %z : f16[N,128] = pointwise{expr="relu(x0)"}(%y) "relu" from("relu")
  %u : f16[N,72] = matmul(%z, %w2) "second" from("second")
  %q : f16[N,72] = softmax{axis=1}(%u) "soft" from("soft")
  output %q
})g";

TEST_F(OnGpu, TacticRangesAreRightAtAllExtents) {
  const auto graph = graph::parse(kNet);
  RecordingLog log;
  compile::TimingCache cache;
  compile::BuildOptions options;
  options.device = "cuda";
  options.wholeTrials = 0;
  options.log = &log;
  options.profiles = {{{"x", {{1, 64}, {1, 64}, {300, 64}, {}, {}, {}}}}};
  const auto plan = buildWithRanges(graph, options, "[1x", "[300x", cache);
  ASSERT_GT(rangesOf(plan), 0u);
  EXPECT_EQ(othersAt(plan, {{"N", 1}}), 0u);
  EXPECT_EQ(othersAt(plan, {{"N", 300}}), rangesOf(plan));
  const auto engine = runtime::Engine::load(runtime::Engine::make(plan, {}, log)->serialize(), {}, log);
  runtime::Context context(engine, {}, log);
  auto& device = engine->device();
  for (const int64_t n : {1, 300, 7, 299, 1, 64, 131, 300, 2, 17}) {
    SCOPED_TRACE(n);
    const auto x = randomTensor(DataType::kF16, {n, 64}, static_cast<uint64_t>(n));
    const auto wanted = graph::evaluate(graph, std::vector<TensorView>{x.view()});
    const HostTensor got(DataType::kF16, {n, 72});
    std::memset(got.view().data, 0x7b, got.view().bytes());
    const DeviceTensor input(device, x.view());
    const DeviceTensor output(device, got.view());
    context.setInputShape(0, x.view().dims);
    context.setAddress(0, input.data());
    context.setAddress(1, output.data());
    for (int round = 0; round < 3; ++round) context.enqueue(nullptr);
    device.synchronize(nullptr);
    output.readBack();
    EXPECT_LE(relativeError(got.view(), wanted[0].view()), 5e-3);
  }
}

// What another kernel reads packed is on the device once.
TEST_F(OnGpu, TacticRangesShareTheirWeights) {
  const auto graph = graph::parse(kNet);
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.wholeTrials = 0;
  options.log = &log;
  options.profiles = {{{"x", {{1, 64}, {1, 64}, {300, 64}, {}, {}, {}}}}};
  compile::TimingCache cache;
  options.timingCache = &cache;
  auto plan = compile::build(graph, options);
  const auto bytesOf = [&] { return runtime::Engine::make(plan, {}, log)->parts().constantBytes; };
  const auto with = bytesOf();
  const auto isByWarpgroups = [](const plan::KernelRecord& record) {
    return record.name.find("mma90") != std::string::npos;
  };
  bool isPacked = true;
  for (auto& step : plan.programs[0].steps) {
    if (step.layerType != "matmul") continue;
    isPacked = isPacked && isByWarpgroups(step.kernel);
    for (const auto& other : step.others) isPacked = isPacked && isByWarpgroups(other.kernel);
    step.others.clear();
  }
  if (!isPacked) GTEST_SKIP() << "another kernel reads the weights here";
  EXPECT_EQ(bytesOf(), with);
}

}  // namespace
}  // namespace tenon::test
