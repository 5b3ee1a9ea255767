// Plans written and read back are the same, and the same plan gives the same bytes.
#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "plan/file.h"
#include "plan/inspect.h"
#include "support/hand_plan.h"

namespace tenon::plan {
namespace {

using test::HandPlan;

Plan randomPlan(std::mt19937_64& random) {
  HandPlan hand;
  const auto pick = [&](uint64_t n) { return random() % n; };
  const std::vector<std::string> shape{"N", std::to_string(1 + pick(5)), "2*N+1"};
  hand.plan().name = std::string(pick(20), 'n') + "\xc3\xa9\n\"";
  hand.plan().target.requirements = {"isa:sse4"};
  hand.plan().facts = {{"b", "2"}, {"a", std::to_string(random())}};
  hand.plan().profilingVerbosity = static_cast<int32_t>(pick(3));
  hand.plan().refittable = pick(2) == 0;
  for (uint64_t i = 0; i < pick(3); ++i)
    hand.plan().nativeCode.emplace_back(pick(200), std::byte{static_cast<unsigned char>(random())});
  std::vector<int32_t> values{hand.input("x", DataType::kF32, shape)};
  const auto steps = 1 + pick(30);
  for (uint64_t i = 0; i < steps; ++i) {
    if (pick(4) == 0) values.push_back(hand.constant<float>(DataType::kF32, {1, 1, 1}, {static_cast<float>(pick(3))}));
    const int32_t a = values[pick(values.size())];
    const int32_t b = values[pick(values.size())];
    const int32_t out = hand.tensor("t" + std::to_string(i), DataType::kF32, shape);
    hand.step("s" + std::to_string(i), test::pointwise("add(x0,x1)"), {a, b}, {out}, pick(2) * 100);
    values.push_back(out);
  }
  const int32_t y = hand.output("y", DataType::kF32, shape);
  hand.copy("last", values.back() == y ? values.front() : static_cast<int32_t>(hand.program().steps.back().outputs[0]),
            y);
  hand.profile({{"x",
                 {{1, shape[1] == "1" ? 1 : std::stol(shape[1]), 3},
                  {2, std::stol(shape[1]), 5},
                  {4, std::stol(shape[1]), 9},
                  {},
                  {},
                  {}}}});
  auto plan = hand.finish();
  plan.programs[0].auxStreams = static_cast<int32_t>(pick(kMaxAuxStreams + 1));
  return plan;
}

void expectSame(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.tenonVersion, b.tenonVersion);
  EXPECT_EQ(a.apiVersion, b.apiVersion);
  EXPECT_EQ(a.target.requirements, b.target.requirements);
  EXPECT_EQ(a.facts, b.facts);
  EXPECT_EQ(a.nativeCode, b.nativeCode);
  EXPECT_EQ(a.profilingVerbosity, b.profilingVerbosity);
  EXPECT_EQ(a.refittable, b.refittable);
  ASSERT_EQ(a.programs.size(), b.programs.size());
  for (size_t p = 0; p < a.programs.size(); ++p) {
    EXPECT_EQ(engineJson(a, p), engineJson(b, p));
    EXPECT_EQ(a.programs[p].auxStreams, b.programs[p].auxStreams);
    ASSERT_EQ(a.programs[p].tensors.size(), b.programs[p].tensors.size());
    for (size_t t = 0; t < a.programs[p].tensors.size(); ++t) {
      const auto& x = a.programs[p].tensors[t];
      const auto& y = b.programs[p].tensors[t];
      EXPECT_EQ(std::tie(x.name, x.dtype, x.shape, x.layout, x.storage, x.index, x.offset, x.bytes, x.firstStep,
                         x.lastStep, x.onHost, x.debug, x.viewOffset, x.pitch),
                std::tie(y.name, y.dtype, y.shape, y.layout, y.storage, y.index, y.offset, y.bytes, y.firstStep,
                         y.lastStep, y.onHost, y.debug, y.viewOffset, y.pitch));
    }
  }
  ASSERT_EQ(a.constants.size(), b.constants.size());
  for (size_t c = 0; c < a.constants.size(); ++c) {
    ASSERT_EQ(a.constants[c].bytes, b.constants[c].bytes);
    EXPECT_EQ(std::memcmp(a.constants[c].data.get(), b.constants[c].data.get(), a.constants[c].bytes), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.constants[c].data.get()) % 64, 0u);
  }
}

TEST(PlanFile, RoundTripOfRandomPlans) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    const Plan plan = randomPlan(random);
    const auto bytes = write(plan);
    EXPECT_EQ(bytes, write(plan));
    const Plan back = read(Blob::copyOf(bytes));
    expectSame(plan, back);
    EXPECT_EQ(bytes, write(back));
  }
}

TEST(PlanFile, PlacesWithinOtherTensors) {
  HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"N", "6"});
  const int32_t t = hand.tensor("t", DataType::kF32, {"N", "6"});
  const int32_t v = hand.view("v", t, {"N", "2", "1"});
  const int32_t y = hand.output("y", DataType::kF32, {"N", "2", "1"});
  hand.program().tensors[static_cast<size_t>(v)].viewOffset = Extent::symbol("N") * 16;
  hand.program().tensors[static_cast<size_t>(v)].pitch = 6;
  hand.program().tensors[static_cast<size_t>(v)].layout = Layout::kChannelsLast;
  hand.step("s", test::pointwise("neg(x0)"), {x}, {t});
  hand.sharedStep("part", {t}, {v});
  hand.copy("copy", v, y);
  hand.profile({{"x", {{1, 6}, {2, 6}, {8, 6}, {}, {}, {}}}});
  const Plan plan = hand.finish();
  const Plan back = read(Blob::copyOf(write(plan)));
  expectSame(plan, back);
  EXPECT_EQ(back.programs[0].steps[1].kind, StepKind::kView);
}

TEST(PlanFile, EqualConstantsAreStoredOnce) {
  const auto bytesWith = [](int copies) {
    HandPlan hand;
    const int32_t x = hand.input("x", DataType::kF32, {"10000"});
    int32_t value = x;
    for (int i = 0; i < copies; ++i) {
      const int32_t c = hand.constant<float>(DataType::kF32, {10000}, std::vector<float>(10000, 1.5f));
      const int32_t t = hand.tensor("t" + std::to_string(i), DataType::kF32, {"10000"});
      hand.step("s", test::pointwise("add(x0,x1)"), {value, c}, {t});
      value = t;
    }
    const int32_t y = hand.output("y", DataType::kF32, {"10000"});
    hand.copy("copy", value, y);
    return write(hand.finish()).size();
  };
  EXPECT_LT(bytesWith(5), bytesWith(1) + 10000);
}

TEST(PlanFile, HeaderTellsVersions) {
  const auto bytes = write(test::smallPlan(false));
  const auto facts = peek(bytes);
  EXPECT_EQ(facts.formatVersion, kFormatVersion);
  EXPECT_EQ(facts.apiVersion, 101600);
  EXPECT_EQ(facts.fileBytes, bytes.size());
}

}  // namespace
}  // namespace tenon::plan
