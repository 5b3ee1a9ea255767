// Programs of several phases: sizes that they compute are read between two of them.
#include <cstring>
#include <functional>

#include "plan/file.h"
#include "runtime_test_support.h"
#include "support/sized_plan.h"

namespace tenon::runtime {
namespace {

struct Kept final : OutputAllocatorHook {
  void* reallocate(const std::string&, void*, uint64_t bytes, uint64_t, StreamHandle) override {
    memory.assign(bytes, std::byte{0x55});
    return memory.data();
  }
  void notifyShape(const std::string&, const Dims& dims) override { shape = dims; }
  std::vector<std::byte> memory;
  Dims shape;
};

TEST(Phases, SizesAreReadAndTold) {
  const auto engine = engineOf(test::sizedPlan());
  Context context(engine, {}, log());
  Kept y;
  context.setOutputAllocator(1, &y);
  for (const int64_t n : {10, 1, 20, 7, 20}) {
    std::vector<float> x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 1 ? 2.f : 0.f;
    int32_t z = -1;
    context.setInputShape(0, {n});
    EXPECT_EQ(context.shape(1), (Dims{1, -1}));
    EXPECT_EQ(context.tensorBytes(1), static_cast<uint64_t>(4 * n));
    context.setAddress(0, x.data());
    context.setAddress(2, &z);
    context.enqueue(nullptr);
    finishWork(*engine);
    const int64_t found = (n + 1) / 3;
    EXPECT_EQ(context.shape(1), (Dims{1, found}));
    EXPECT_EQ(y.shape, (Dims{1, found}));
    int32_t sum = 0;
    for (int64_t i = 0; i < found; ++i) {
      int32_t place = -1;
      std::memcpy(&place, y.memory.data() + 4 * i, 4);
      EXPECT_EQ(place, 3 * i + 1);
      sum += place;
    }
    EXPECT_EQ(z, sum);
    EXPECT_EQ(context.tensorBytes(1), static_cast<uint64_t>(4 * n));
  }
}

TEST(Phases, TimesAreReportedStepByStep) {
  struct Times final : ProfilerHook {
    void report(const std::string& layer, float milliseconds) override {
      layers.push_back(layer);
      EXPECT_GE(milliseconds, 0) << layer;
    }
    std::vector<std::string> layers;
  };
  const auto engine = engineOf(test::sizedPlan());
  Context context(engine, {}, log());
  std::vector<float> x(10, 1);
  std::vector<int32_t> y(10), z(1);
  Times times;
  context.setInputShape(0, {10});
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  context.setAddress(2, z.data());
  context.setProfiler(&times);
  context.enqueue(nullptr);
  EXPECT_EQ(times.layers, (std::vector<std::string>{"count", "places", "copy", "sum"}));
  EXPECT_EQ(z[0], 45);
}

TEST(Phases, MemoryOfTheUserHoldsTheLargestSizes) {
  const auto engine = engineOf(test::sizedPlan());
  Context context(engine, {MemoryStrategy::kUserManaged, 0}, log());
  context.setInputShape(0, {2});
  EXPECT_EQ(context.memoryBytes(), engine->arenaBytes(0));
  std::vector<float> x(2, 1);
  std::vector<int32_t> y(2), z(1);
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  context.setAddress(2, z.data());
  alignas(256) static std::byte memory[4096];
  context.setMemory(memory, 64);
  expectContains(messageOf([&] { context.enqueue(nullptr); }), {"64 bytes of memory", "only during the execution"});
  context.setMemory(memory, sizeof(memory));
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(z[0], 1);
}

TEST(Phases, PlansAreReadAsTheyWereWritten) {
  const auto plan = test::sizedPlan();
  const auto bytes = plan::write(plan);
  const auto engine = Engine::load(bytes, {}, log());
  EXPECT_EQ(engine->serialize(), bytes);
  const auto& sizes = engine->plan().sizes;
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_EQ(sizes[0].name + sizes[0].layer, "foundfinder");
  EXPECT_EQ(sizes[0].opt, plan.sizes[0].opt);
  EXPECT_EQ(sizes[0].upper, Extent::symbol("N"));
  EXPECT_EQ(engine->program(0).cuts, std::vector<int32_t>{1});
}

// What a forged plan could say about sizes.
TEST(Phases, UnsoundSizesAreRefused) {
  const auto refusal = [](const std::function<void(plan::Plan&)>& change) {
    auto plan = test::sizedPlan();
    change(plan);
    return messageOf([&] { plan::write(plan); });
  };
  expectContains(refusal([](plan::Plan& p) { p.programs[0].cuts = {0}; }), {"'found'", "behind which no phase begins"});
  expectContains(refusal([](plan::Plan& p) { p.programs[0].cuts = {2}; }), {"step 'places' of phase 0"});
  expectContains(refusal([](plan::Plan& p) { p.programs[0].cuts = {9}; }), {"begins at step 9"});
  expectContains(refusal([](plan::Plan& p) { p.programs[0].cuts = {1, 2}; }), {"2 cuts"});
  expectContains(refusal([](plan::Plan& p) { p.programs[0].cuts.clear(); }), {"'found'"});
  expectContains(refusal([](plan::Plan& p) { p.programs[0].sizeTensors = {77}; }), {"'found' is tensor 77"});
  expectContains(refusal([](plan::Plan& p) { p.programs[0].sizeTensors = {0}; }), {"tensor 'x'", "one integer"});
  expectContains(refusal([](plan::Plan& p) { p.programs[0].sizeTensors.clear(); }),
                 {"0 tensors with sizes for 1 sizes"});
  expectContains(refusal([](plan::Plan& p) { p.sizes[0].upper = Extent::symbol("found"); }), {"known later"});
  expectContains(refusal([](plan::Plan& p) { p.sizes[0].opt = Extent::symbol("nobody"); }), {"'nobody'"});
  expectContains(refusal([](plan::Plan& p) { p.sizes[0].name = "N"; }), {"'found'"});
  expectContains(refusal([](plan::Plan& p) { p.sizes.push_back(p.sizes[0]); }), {"'found'"});
  expectContains(refusal([](plan::Plan& p) { p.sizes.clear(); }), {"'found'"});
  expectContains(refusal([](plan::Plan& p) { p.programs[0].steps[0].kernel.op = "fill{shape=[found]}"; }),
                 {"step 'count' of phase 0", "sizes in its operator"});
  // A second size that comes from a step which needs the size itself.
  expectContains(refusal([](plan::Plan& p) {
                   p.sizes.push_back({"other", "finder", 0, Extent::symbol("N")});
                   p.programs[0].sizeTensors.push_back(p.programs[0].ioTensors[2]);
                 }),
                 {"'other'"});
}

// Between what the plan allows and what a step counts: an error with the layer, and the context goes on.
TEST(Phases, SizesBeyondTheirBoundsAreErrors) {
  auto plan = test::sizedPlan();
  plan.sizes[0].upper = 3;
  const auto engine = engineOf(plan);
  Context context(engine, {}, log());
  std::vector<float> x(10, 1);
  std::vector<int32_t> y(10), z(1);
  context.setInputShape(0, {10});
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  context.setAddress(2, z.data());
  expectContains(messageOf([&] { context.enqueue(nullptr); }), {"layer 'finder'", "is 10", "expected 0 to 3"});
  std::fill(x.begin() + 2, x.end(), 0.f);
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(z[0], 1);
}

}  // namespace
}  // namespace tenon::runtime
