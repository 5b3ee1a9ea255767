// A GPU that is taken for one of an older chip (TENON_CUDA_CAPABILITY): what its kernels have and have not.
#include "backends/cuda/driver/chip.h"
#include "backends/cuda/driver/cuda_device.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

// A GPU has nothing of a newer one: the setting is refused, not ignored.
TEST(NewerChip, IsRefusedByName) {
  const char* asked = std::getenv("TENON_CUDA_CAPABILITY");
  if (asked == nullptr || std::string_view(asked) != "999") GTEST_SKIP() << "TENON_CUDA_CAPABILITY is not 999";
  const auto& reason = backends::cuda::unavailableReason();
  if (reason.starts_with("no CUDA driver")) GTEST_SKIP() << reason;
  EXPECT_NE(reason.find("TENON_CUDA_CAPABILITY is 999, expected at most that of the GPU, "), std::string::npos)
      << reason;
}

class OlderChip : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && !backends::cuda::translatesCode()) GTEST_SKIP() << "TENON_CUDA_CAPABILITY names no older chip";
  }
};

TEST_F(OlderChip, HasWhatThatChipHas) {
  EXPECT_EQ(std::to_string(backends::cuda::computeCapability()), std::getenv("TENON_CUDA_CAPABILITY"));
  EXPECT_EQ(backends::cuda::hasWarpgroupProducts(), backends::cuda::computeCapability() / 10 == 9);
  if (backends::cuda::computeCapability() < 90) {
    EXPECT_LE(backends::cuda::sharedBytesOfMultiprocessor(), 163 << 10);
  }
}

// No candidate needs what the chip lacks, and what is chosen without measurements is right.
TEST_F(OlderChip, ComputesByItsOwnKernels) {
  const auto graph = graph::parse(R"g(graph "older" {
  input %x : f16[2,64,9,7]
  const %w : f16[32,64,3,3] = random(5)
  const %v : f16[32,32,1,1] = random(6)
  %c : f16[2,32,9,7] = convolution{prePadding=[1,1] postPadding=[1,1] epilogue="relu(x0)"}(%x, %w) "c"
  %y : f16[2,32,9,7] = convolution(%c, %v) "y"
  output %y
})g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF16, {2, 64, 9, 7}, 7));
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  size_t offered = 0;
  options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
    for (const auto& candidate : candidates) EXPECT_EQ(candidate.tactic.find("mma90"), std::string::npos);
    offered += candidates.size();
    return candidates;
  };
  const auto got = runOnGpu(graph, inputs, options).outputs;
  EXPECT_GT(offered, 0u);
  EXPECT_LE(relativeError(got[0].view(), graph::evaluate(graph, views(inputs))[0].view()), 2e-3);
}

}  // namespace
}  // namespace tenon::test
