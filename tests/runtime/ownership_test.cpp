// An engine made from a plan in memory owns every byte that it needs later.
#include <algorithm>

#include "runtime_test_support.h"

namespace tenon::runtime {
namespace {

// y = x + c + d; both constants begin at `values`, of which d holds the first alone.
plan::Plan planOver(std::vector<float>& values, bool borrowed) {
  test::HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"3"});
  const int32_t c = hand.constant(DataType::kF32, {3}, values);
  const int32_t d = hand.constant(DataType::kF32, {1}, std::vector<float>{values[0]});
  const int32_t y = hand.output("y", DataType::kF32, {"3"});
  const int32_t t = hand.tensor("t", DataType::kF32, {"3"});
  hand.step("add", test::pointwise("add(x0,x1)"), {x, c}, {t});
  hand.step("again", test::pointwise("add(x0,x1)"), {t, d}, {y});
  auto plan = hand.finish();
  for (auto& constant : plan.constants) {
    if (borrowed) constant.data = std::shared_ptr<const void>(std::shared_ptr<void>(), values.data());
  }
  return plan;
}

TEST(Ownership, BorrowedConstantsAreCopied) {
  std::vector<float> values{1, 2, 3};
  const auto expected = engineOf(planOver(values, false))->serialize();
  const auto engine = engineOf(planOver(values, true));
  std::fill(values.begin(), values.end(), 99.F);
  EXPECT_EQ(engine->serialize(), expected);
  Context context(engine, {}, log());
  std::vector<float> x{10, 20, 30}, y(3);
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(y, (std::vector<float>{12, 23, 34}));
  for (const auto& constant : engine->plan().constants) {
    EXPECT_NE(constant.data.use_count(), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(constant.data.get()) % 64, 0U);
  }
}

TEST(Ownership, OwnedConstantsStayWhereTheyAre) {
  std::vector<float> values{1, 2, 3};
  const auto plan = planOver(values, false);
  const auto engine = engineOf(plan);
  for (size_t i = 0; i < plan.constants.size(); ++i)
    EXPECT_EQ(engine->plan().constants[i].data, plan.constants[i].data);
}

}  // namespace
}  // namespace tenon::runtime
