// The device without hardware gives the same times on every machine; limits of instruction sets are obeyed.
#include <cstdlib>

#include "core/platform/processor.h"
#include "runtime/host_device.h"
#include "runtime_test_support.h"

namespace tenon::runtime {
namespace {

class KeptMilliseconds final : public ProfilerHook {
 public:
  void report(const std::string&, float milliseconds) override { times.push_back(milliseconds); }
  std::vector<float> times;
};

std::vector<float> nullTimes(int64_t n) {
  auto plan = test::smallPlan(true);
  plan.target.device = "null";
  for (auto& program : plan.programs) {
    for (auto& step : program.steps) step.kernel.backend = "null", step.kernel.name = "nothing";
  }
  const auto engine = engineOf(plan);
  Context context(engine, {}, log());
  std::vector<float> memory(24);
  context.setInputShape(0, {n, 3});
  context.setAddress(0, memory.data());
  context.setAddress(1, memory.data());
  KeptMilliseconds times;
  context.setProfiler(&times);
  context.enqueue(nullptr);
  return times.times;
}

TEST(NullBackend, TimesFollowFromKernelsAndSizes) {
  const auto small = nullTimes(1);
  const auto large = nullTimes(8);
  ASSERT_EQ(small.size(), 3u);
  EXPECT_NE(small[0], small[1]);
  for (size_t i = 0; i < small.size(); ++i) EXPECT_LT(small[i], large[i]);
  for (size_t i = 0; i < small.size(); ++i) EXPECT_FLOAT_EQ(nullTimes(1)[i], small[i]);
}

// Each limit in a process of its own, because it is read once.
TEST(ProcessorDeathTest, InstructionSetsCanBeLimited) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto bestUnder = [](const char* limit) {
    setenv("TENON_MAX_ISA", limit, 1);
    return platform::bestIsa();
  };
  EXPECT_EXIT(std::exit(bestUnder("sse4") <= platform::Isa::kSse4 ? 0 : 1), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(bestUnder("avx2") <= platform::Isa::kAvx2 ? 0 : 1), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        try {
          (void)bestUnder("neon");
        } catch (const UserError& error) {
          std::fputs(error.what(), stderr);
          std::exit(3);
        }
      },
      testing::ExitedWithCode(3), "TENON_MAX_ISA is 'neon'");
}

TEST(HostDevice, OffersWhatItMeets) {
  Device& device = hostDevice();
  EXPECT_EQ(device.kind(), "cpu");
  EXPECT_FALSE(device.name().empty());
  for (const auto& property : device.properties()) EXPECT_TRUE(device.meets(property)) << property;
  EXPECT_FALSE(device.meets("isa:quantum"));
  EXPECT_THROW((void)device.allocate(SIZE_MAX, 64), OutOfMemory);
}

}  // namespace
}  // namespace tenon::runtime
