// Other kernels for extents that are far from the opt shapes: on the CPU, with timing caches that say which are faster.
#include "support/tactic_ranges.h"

namespace tenon::test {
namespace {

constexpr const char* kNet = R"g(graph "open" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,48]
  const %w1 : f32[48,40] = random(1)
  const %b1 : f32[1,40] = random(2)
  const %w2 : f32[40,24] = random(3)
  %y : f32[N,40] = matmul(%x, %w1) "first" from("first")
  %a : f32[N,40] = pointwise{expr="add(x0,x1)"}(%y, %b1) "bias" from("bias")
  %z : f32[N,40] = pointwise{expr="relu(x0)"}(%a) "relu" from("relu")
  %u : f32[N,24] = matmul(%z, %w2) "second" from("second")
  %q : f32[N,24] = softmax{axis=1}(%u) "soft" from("soft")
  output %q
})g";

class TacticRanges : public testing::Test {
 protected:
  compile::BuildOptions options(int64_t min, int64_t opt, int64_t max) {
    compile::BuildOptions result;
    result.device = "cpu";
    result.log = &log_;
    result.optimizationLevel = 4;
    result.profiles = {{{"x", {{min, 48}, {opt, 48}, {max, 48}, {}, {}, {}}}}};
    return result;
  }
  plan::Plan build(int64_t min, int64_t opt, int64_t max) {
    return buildWithRanges(graph_, options(min, opt, max), fmt::format("[{}x", opt), fmt::format("[{}x", max), cache_);
  }
  std::shared_ptr<const runtime::Engine> loaded(const plan::Plan& plan) {
    return runtime::Engine::load(runtime::Engine::make(plan, {}, log_)->serialize(), {}, log_);
  }
  // One context, to and fro.
  void expectRight(const plan::Plan& plan, std::initializer_list<int64_t> sizes) {
    const auto engine = loaded(plan);
    runtime::Context context(engine, {}, log_);
    for (const int64_t n : sizes) {
      SCOPED_TRACE(n);
      const auto x = randomTensor(DataType::kF32, {n, 48}, static_cast<uint64_t>(n));
      const auto wanted = graph::evaluate(graph_, std::vector<TensorView>{x.view()});
      HostTensor got(DataType::kF32, {n, 24});
      context.setInputShape(0, x.view().dims);
      context.setAddress(0, x.view().data);
      context.setAddress(1, got.view().data);
      for (int round = 0; round < 2; ++round) {
        std::memset(got.view().data, 0x7b, got.view().bytes());
        context.enqueue(nullptr);
        engine->device().synchronize(nullptr);
        EXPECT_LE(relativeError(got.view(), wanted[0].view()), 1e-5);
      }
    }
  }

  RecordingLog log_;
  const graph::Graph graph_ = graph::parse(kNet);
  compile::TimingCache cache_;
};

TEST_F(TacticRanges, LargeExtentsHaveKernelsOfTheirOwn) {
  const auto plan = build(1, 1, 64);
  EXPECT_GT(rangesOf(plan), 0u);
  EXPECT_EQ(othersAt(plan, {{"N", 1}}), 0u);
  EXPECT_EQ(othersAt(plan, {{"N", 64}}), rangesOf(plan));
  EXPECT_TRUE(log_.contains("towards the max shapes"));
  expectRight(plan, {1, 64, 2, 63, 7, 64, 1, 31, 5, 64, 1});
}

TEST_F(TacticRanges, SmallExtentsToo) {
  auto given = options(1, 32, 256);
  given.timingCache = &cache_;
  (void)compile::build(graph_, given);
  exchangeFastest(cache_, "[32x", "[1x");
  exchangeFastest(cache_, "[32x", "[256x");
  const auto plan = compile::build(graph_, given);
  EXPECT_EQ(othersAt(plan, {{"N", 32}}), 0u);
  EXPECT_GT(othersAt(plan, {{"N", 1}}), 0u);
  EXPECT_GT(othersAt(plan, {{"N", 256}}), 0u);
  expectRight(plan, {32, 1, 256, 3, 32, 255, 2, 97, 1});
}

TEST_F(TacticRanges, AreInThePlanAndInTheInspector) {
  const auto made = build(1, 1, 64);
  const auto engine = loaded(made);
  const auto& plan = engine->plan();
  ASSERT_EQ(plan.programs[0].steps.size(), made.programs[0].steps.size());
  for (size_t i = 0; i < plan.programs[0].steps.size(); ++i) {
    const auto& wanted = made.programs[0].steps[i].others;
    const auto& got = plan.programs[0].steps[i].others;
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t k = 0; k < got.size(); ++k) {
      EXPECT_EQ(got[k].elements.low, wanted[k].elements.low);
      EXPECT_EQ(got[k].elements.high, wanted[k].elements.high);
      EXPECT_EQ(got[k].tactic, wanted[k].tactic);
      EXPECT_EQ(got[k].tacticValue, wanted[k].tacticValue);
      EXPECT_EQ(got[k].kernel.params, wanted[k].kernel.params);
    }
  }
  auto shown = plan;
  shown.profilingVerbosity = 2;
  const SymbolValues small{{"N", 1}}, large{{"N", 64}};
  const auto json = plan::engineJson(shown, 0, nullptr);
  EXPECT_NE(json.find("TacticRanges"), std::string::npos);
  for (size_t i = 0; i < plan.programs[0].steps.size(); ++i) {
    const auto& step = plan.programs[0].steps[i];
    if (step.others.empty()) continue;
    const auto named = [](const std::string& tactic) { return fmt::format("TacticName: {},", tactic); };
    EXPECT_NE(plan::layerText(shown, 0, i, &small).find(named(step.tactic)), std::string::npos);
    EXPECT_NE(plan::layerText(shown, 0, i, &large).find(named(step.others.back().tactic)), std::string::npos);
  }
}

TEST_F(TacticRanges, ComeFromTheCacheTheSecondTime) {
  const auto bytesOf = [&](const plan::Plan& plan) { return runtime::Engine::make(plan, {}, log_)->serialize(); };
  const auto first = bytesOf(build(1, 1, 64));
  compile::TimingCache copy;
  copy.deserialize(cache_.serialize());
  auto given = options(1, 1, 64);
  given.timingCache = &copy;
  given.errorOnTimingCacheMiss = true;
  const auto second = bytesOf(compile::build(graph_, given));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin(), second.end()));
}

TEST_F(TacticRanges, AreNotLookedForWhereNothingIsFar) {
  EXPECT_EQ(rangesOf(build(3, 4, 6)), 0u);
  auto given = options(1, 1, 64);
  given.optimizationLevel = 3;
  EXPECT_EQ(rangesOf(buildWithRanges(graph_, given, "[1x", "[64x", cache_)), 0u);
}

// A kernel that was chosen for the first phase stands there at its shapes, too.
TEST_F(TacticRanges, EachProfileHasItsOwn) {
  auto given = options(1, 1, 64);
  given.profiles.push_back({{"x", {{1, 48}, {64, 48}, {64, 48}, {}, {}, {}}}});
  const auto plan = buildWithRanges(graph_, given, "[1x", "[64x", cache_);
  EXPECT_GT(rangesOf(plan), 0u);
  ASSERT_EQ(plan.programs.size(), 2u);
  for (const auto& step : plan.programs[1].steps) {
    for (const auto& other : step.others) EXPECT_EQ(other.elements.low, 0);
  }
}

TEST_F(TacticRanges, DamagedRangesAreRefused) {
  auto plan = build(1, 1, 64);
  const auto refusal = [&](const std::function<void(plan::Step&)>& damage) {
    auto damaged = plan;
    for (auto& step : damaged.programs[0].steps) {
      if (!step.others.empty()) damage(step);
    }
    try {
      (void)loaded(damaged);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal([](plan::Step& step) {
              step.others[0].elements = {9, 8};
            }).find("9 to 8 elements"),
            std::string::npos);
  EXPECT_NE(refusal([](plan::Step& step) { step.others.push_back(step.others[0]); }).find("do not meet"),
            std::string::npos);
  EXPECT_NE(refusal([](plan::Step& step) {
              step.others[0].kernel.op = "softmax{axis=0}";
            }).find("different operators or backends"),
            std::string::npos);
  EXPECT_NE(refusal([](plan::Step& step) { step.kind = plan::StepKind::kView; }).find("launches nothing"),
            std::string::npos);
  EXPECT_NE(refusal([](plan::Step& step) { step.others[0].kernel.nativeCode = 77; }).find("native code 77"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::test
