// Builds that leave libraries out: no kernel of theirs is in the engine, and its answers are right.
#include "backends/cuda/driver/libraries.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

constexpr const char* kNetwork = R"g(graph "net" {
  input %x : f32[2,8,6,6]
  const %w : f32[8,8,3,3] = random(1)
  const %v : f32[288,16] = random(2)
  %c : f32[2,8,6,6] = convolution{prePadding=[1,1] postPadding=[1,1] epilogue="relu(x0)"}(%x, %w) "conv"
  %f : f32[2,288] = reshape{shape=[2,288]}(%c) "flat"
  %y : f32[2,16] = matmul(%f, %v) "fc"
  output %y
})g";

bool uses(const plan::Plan& plan, std::string_view library) {
  const auto& steps = plan.programs.at(0).steps;
  return std::any_of(steps.begin(), steps.end(),
                     [&](const auto& step) { return step.kernel.name.find(library) != std::string::npos; });
}

TEST(Libraries, LeftOutAreNotUsed) {
  const auto& reason = backends::cuda::unavailableReason();
  if (!reason.empty()) GTEST_SKIP() << reason;
  const auto graph = graph::parse(kNetwork);
  const auto build = [&](const std::vector<std::string>& excluded) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cuda";
    options.optimizationLevel = 0;
    options.excludedLibraries = excluded;
    options.log = &log;
    return compile::build(graph, options);
  };
  const auto all = build({});
  EXPECT_TRUE(uses(all, "cublaslt") || uses(all, "cudnn")) << "nothing is there to be left out";
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {2, 8, 6, 6}, 3));
  const auto expected = graph::evaluate(graph, views(inputs));
  using Names = std::vector<std::string>;
  for (const auto& excluded : {Names{"cublaslt"}, Names{"cudnn"}, Names{"cublaslt", "cudnn"}}) {
    const auto plan = build(excluded);
    for (const auto& library : excluded) EXPECT_FALSE(uses(plan, library)) << library;
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.excludedLibraries = excluded;
    const auto got = runOnGpu(graph, inputs, options);
    EXPECT_LE(relativeError(got.outputs[0].view(), expected[0].view()), 1e-4) << excluded.size() << " left out";
  }
}

}  // namespace
}  // namespace tenon::test
