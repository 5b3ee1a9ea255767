// The ranges that a tool sees of executions.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/context.h"
#include "support/hand_plan.h"

namespace tenon::runtime {
namespace {

class SilentLog final : public Log {
 public:
  void write(Severity, const char*) noexcept override {}
};

class NvtxRanges : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("NVTX_INJECTION64_PATH", TENON_NVTX_TOOL, 1); }

  static const char* ask(const char* function) {
    static void* const kTool = dlopen(TENON_NVTX_TOOL, RTLD_LAZY | RTLD_LOCAL);
    return reinterpret_cast<const char* (*)()>(dlsym(kTool, function))();
  }

  // What the tool sees of one execution.
  std::string enqueue() {
    (void)ask("nvtxToolEvents");
    context_.enqueue(nullptr);
    engine_->device().synchronize(nullptr);
    return ask("nvtxToolEvents");
  }

  NvtxRanges() {
    for (int i = 0; i < static_cast<int>(engine_->io().size()); ++i)
      context_.setAddress(i, memory_[static_cast<size_t>(i)]);
  }

  SilentLog log_;
  std::shared_ptr<const Engine> engine_ = Engine::make(test::smallPlan(false), {}, log_);
  Context context_{engine_, {}, log_};
  alignas(64) float memory_[4][16] = {};
};

std::string expected(const plan::Plan& plan, bool detailed) {
  std::string events = "+enqueue " + plan.name + "\n";
  for (const auto& step : plan.programs[0].steps) {
    events += "+" + step.name;
    if (detailed) events += " [" + step.layerType + ", " + step.tactic + ", of " + step.origins.at(0) + "]";
    events += "\n-\n";
  }
  return events + "-\n";
}

TEST_F(NvtxRanges, EachLayerStandsInTheRangeOfItsExecution) {
  ASSERT_NE(NvtxTool::attached(), nullptr);
  EXPECT_STREQ(ask("nvtxToolDomain"), "TensorRT");
  EXPECT_EQ(enqueue(), "") << "nobody asked for ranges";
  context_.setRangeDetail(RangeDetail::kNames);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(enqueue(), expected(engine_->plan(), false)) << "execution " << i;
  context_.setRangeDetail(RangeDetail::kDetailed);
  EXPECT_EQ(enqueue(), expected(engine_->plan(), true));
  context_.setRangeDetail(RangeDetail::kNone);
  EXPECT_EQ(enqueue(), "");
}

}  // namespace
}  // namespace tenon::runtime
