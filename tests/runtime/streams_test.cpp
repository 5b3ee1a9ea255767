// The number of streams in a plan: read with care, and of no matter where there is one stream for all.
#include "plan/branch_steps.h"
#include "plan/file.h"
#include "runtime/runtime_test_support.h"

namespace tenon::runtime {
namespace {

TEST(AuxStreams, APlanSaysHowMany) {
  auto plan = test::smallPlan(false);
  EXPECT_EQ(engineOf(plan)->auxStreams(), 0);
  plan.programs[0].auxStreams = 3;
  const auto engine = engineOf(plan);
  EXPECT_EQ(engine->auxStreams(), 3);
  Context context(engine, {}, log());
  context.setAuxStreams(std::vector<StreamHandle>(5));
  const auto x = ramp(6);
  std::vector<float> y(6);
  context.setAddress(0, const_cast<float*>(x.data()));
  context.setAddress(1, y.data());
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(y, smallExpected(x));
  EXPECT_EQ(plan::read(plan::Blob::copyOf(engine->serialize())).programs[0].auxStreams, 3);
  for (const int32_t wrong : {-1, 32, INT32_MAX, INT32_MIN}) {
    plan.programs[0].auxStreams = wrong;
    expectContains(messageOf([&] { (void)engineOf(plan); }), {"streams", "31"});
  }
}

TEST(AuxStreams, StepsReadWhatIsWrittenThroughViews) {
  test::HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"4"});
  const int32_t y = hand.output("y", DataType::kF32, {"2", "2"});
  const int32_t t = hand.tensor("t", DataType::kF32, {"4"});
  const int32_t v = hand.view("v", t, {"2", "2"});
  hand.step("first", test::pointwise("neg(x0)"), {x}, {t});
  hand.step("second", test::pointwise("abs(x0)"), {v}, {y});
  const auto plan = hand.finish();
  const auto place = [](int32_t, int32_t base) { return plan::Place{base, 0, 16}; };
  const auto steps = plan::branchSteps(plan.programs[0], place, [](size_t) { return plan::Place{}; });
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_TRUE(steps[0].needs.empty());
  EXPECT_EQ(steps[1].needs, (std::vector<int32_t>{0}));
  const auto branches = memory::branch(steps, 4);
  EXPECT_EQ(branches.streams, 1);
}

}  // namespace
}  // namespace tenon::runtime
