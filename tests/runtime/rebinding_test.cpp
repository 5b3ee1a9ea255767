// Shapes of a context that change: which steps see it.
#include "runtime_test_support.h"
#include "support/hand_plan.h"

namespace tenon::runtime {
namespace {

// A step is made ready anew only where something that it has seen is another: the shapes of the cut never are, the size
// that says where it begins is; the sum sees neither.
TEST(Rebinding, StepsThatReadASizeSeeItsEveryValue) {
  test::HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"10"});
  const int32_t k = hand.input("k", DataType::kF32, {"M"});
  const int32_t cut = hand.output("cut", DataType::kF32, {"2"});
  const int32_t sum = hand.output("sum", DataType::kF32, {"10"});
  const int32_t twice = hand.output("twice", DataType::kF32, {"M"});
  hand.step("cut", "slice{start=[M] size=[2]}", {x}, {cut});
  hand.step("sum", test::pointwise("add(x0,x0)"), {x}, {sum});
  hand.step("twice", test::pointwise("add(x0,x0)"), {k}, {twice});
  hand.profile({{"k", {{0}, {2}, {8}, {}, {}, {}}}});
  const auto engine = engineOf(hand.finish());
  Context context(engine, {}, log());
  auto xs = ramp(10);
  for (const int64_t m : {1, 5, 5, 0, 2, 8, 1}) {
    auto ks = ramp(static_cast<size_t>(m), 3);
    std::vector<float> cuts(2, -1), sums(10, -1), twices(ks.size() + 1, -1);
    context.setInputShape(1, {m});
    void* const addresses[] = {xs.data(), ks.data(), cuts.data(), sums.data(), twices.data()};
    for (int i = 0; i < 5; ++i) context.setAddress(i, addresses[i]);
    context.enqueue(nullptr);
    finishWork(*engine);
    const auto first = static_cast<size_t>(m);
    EXPECT_EQ(cuts, (std::vector<float>{xs[first], xs[first + 1]})) << m;
    for (size_t i = 0; i < 10; ++i) EXPECT_EQ(sums[i], 2 * xs[i]) << m;
    for (size_t i = 0; i < ks.size(); ++i) EXPECT_EQ(twices[i], 2 * ks[i]) << m;
  }
}

}  // namespace
}  // namespace tenon::runtime
