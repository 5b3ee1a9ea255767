// How often kernels are loaded: on the device without hardware, which says so in its log.
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// Kernels of different operators, so that each record belongs to one step.
constexpr const char* kNetwork = R"g(graph "net" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,8,16,16]
  const %w : f32[8,8,3,3] = random(1)
  %a : f32[N,8,14,14] = convolution(%x, %w) "a"
  %b : f32[N,8,14,14] = softmax{axis=1}(%a) "b"
  %c : f32[N,8,14,14] = lrn{window=3}(%b) "c"
  %d : f32[N,8,14,14] = softmax{axis=2}(%c) "d"
  output %d
})g";

int loadsOf(const RecordingLog& log, const plan::KernelRecord& record) {
  const auto line = fmt::format("null: loaded '{}' of {}", record.params, record.op);
  return static_cast<int>(
      std::count_if(log.lines.begin(), log.lines.end(), [&](const auto& entry) { return entry.second == line; }));
}

// Once to be measured, once to say what it needs; once for an engine. Not at all where a level measures nothing, or a
// timing cache knows the times.
TEST(Loads, ChosenKernelsAreLoadedTwiceInABuildAndOnceInAnEngine) {
  const auto graph = graph::parse(kNetwork);
  for (const uint64_t limit : {uint64_t{UINT64_MAX}, uint64_t{1} << 20}) {
    for (const int level : {0, 1, 3, 5}) {
      for (const size_t profiles : {size_t{1}, size_t{2}}) {
        compile::TimingCache cache;
        for (const bool isKnown : {false, true}) {
          SCOPED_TRACE(fmt::format("level {}, {} profiles, limit {}, cache {}", level, profiles, limit, isKnown));
          RecordingLog log;
          compile::BuildOptions options;
          options.device = "null";
          options.log = &log;
          options.optimizationLevel = level;
          options.workspaceLimit = limit;
          options.timingCache = &cache;
          plan::InputRange range;
          range.min = {1, 8, 16, 16};
          range.opt = {2, 8, 16, 16};
          range.max = {3, 8, 16, 16};
          options.profiles.assign(profiles, {{"x", range}});
          const auto plan = compile::build(graph, options);
          const bool isLimited = limit != UINT64_MAX;
          for (const auto& step : plan.programs[0].steps) {
            ASSERT_EQ(step.kind, plan::StepKind::kLaunch);
            const int loads = loadsOf(log, step.kernel);
            // Measured, or asked for its workspace; then asked at the shapes of each profile. Where workspace is
            // limited, products are asked once more, when channel-blocked layouts are looked at. At level 4 and above
            // they are measured at the min shapes, too.
            EXPECT_LE(loads, static_cast<int>(1 + profiles) + (isLimited ? 1 : 0) + (level >= 4 ? 1 : 0)) << step.name;
            EXPECT_GE(loads, 1) << step.name;
            if (!isLimited && (level == 0 || isKnown)) {
              EXPECT_EQ(loads, static_cast<int>(profiles)) << step.name;
            }
          }
          RecordingLog running;
          const auto engine = runtime::Engine::make(plan, {}, running);
          for (const auto& step : plan.programs[0].steps) EXPECT_EQ(loadsOf(running, step.kernel), 1) << step.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
