// Machine code on the device: equal code once, whatever number of kernels and engines run it, and gone with the last
// one.
#include <set>

#include "cuda/regions.h"

namespace tenon::test {
namespace {

constexpr const char* kNetwork = R"g(graph "chain" {
  input %x : f32[8,33]
  %a : f32[8,33] = softmax{axis=1}(%x) "first"
  %b : f32[8,33] = softmax{axis=1}(%a) "second"
  %c : f32[8,33] = pointwise{expr="exp(x0)"}(%b) "between"
  %y : f32[8,33] = softmax{axis=1}(%c) "third"
  output %y
})g";

TEST(Modules, EqualCodeIsOnTheDeviceOnce) {
  const auto& reason = backends::cuda::unavailableReason();
  if (!reason.empty()) GTEST_SKIP() << reason;
  const auto loaded = [] { return emulatedNumber("emulatedModules"); };
  if (!loaded()) GTEST_SKIP() << "only the emulated GPU counts modules";
  RecordingLog log;
  compile::BuildOptions options = unmeasured();
  options.device = "cuda";
  options.log = &log;
  const auto graph = graph::parse(kNetwork);
  const auto plan = compile::build(graph, options);
  size_t launches = 0;
  std::set<int32_t> codes;
  for (const auto& step : plan.programs.at(0).steps) {
    if (step.kernel.nativeCode < 0) continue;
    ++launches;
    codes.insert(step.kernel.nativeCode);
  }
  ASSERT_GE(launches, 4u);
  ASSERT_LT(codes.size(), launches);
  const auto before = *loaded();
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {8, 33}, 3));
  const auto expected = graph::evaluate(graph, views(inputs));
  {
    auto first = runtime::Engine::make(plan, {}, log);
    EXPECT_EQ(*loaded() - before, codes.size());
    const auto second = runtime::Engine::load(first->serialize(), {}, log);
    EXPECT_EQ(*loaded() - before, codes.size());
    first.reset();
    EXPECT_EQ(*loaded() - before, codes.size());
    const auto got = run(second, inputs, log);
    EXPECT_LE(relativeError(got[0].view(), expected[0].view()), 1e-5);
  }
  EXPECT_EQ(*loaded(), before);
}

}  // namespace
}  // namespace tenon::test
