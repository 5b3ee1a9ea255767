// The choice that is finished with the whole engine: on the device without hardware, on which a kernel takes half as
// long again behind one of another variant.
#include <set>

#include "compile/proposals.h"
#include "compile/tune/whole.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// Kernels in a chain, most of them twice, whose own fastest variants differ.
std::string chain() {
  std::string text = "graph \"chain\" {\n  input %v0 : f32[1,8,16,16]\n";
  const char* ops[] = {"softmax{axis=1}", "softmax{axis=2}", "softmax{axis=3}", "lrn{window=3}",
                       "softmax{axis=1}", "softmax{axis=2}", "lrn{window=5}",   "softmax{axis=3}"};
  int at = 0;
  for (const char* op : ops) {
    text += fmt::format("  %v{} : f32[1,8,16,16] = {}(%v{}) \"n{}\"\n", at + 1, op, at, at);
    ++at;
  }
  return text + fmt::format("  output %v{}\n}}", at);
}

struct Built {
  plan::Plan plan;
  std::vector<std::byte> bytes;
  double seconds = 0;
  RecordingLog log;
};

double secondsOf(const std::shared_ptr<const runtime::Engine>& engine) {
  RecordingLog log;
  runtime::Context context(engine, {}, log);
  std::vector<HostTensor> memory;
  for (int i = 0; i < static_cast<int>(engine->io().size()); ++i) {
    const auto& io = engine->io()[static_cast<size_t>(i)];
    if (io.isInput && !isConstant(io.shape)) context.setInputShape(i, Dims{2, 8, 16, 16});
  }
  for (int i = 0; i < static_cast<int>(engine->io().size()); ++i) {
    memory.emplace_back(DataType::kF32, context.shape(i));
    context.setAddress(i, memory.back().view().data);
  }
  context.enqueue(nullptr);
  const auto timer = engine->device().makeTimer(2);
  timer->mark(0, nullptr);
  context.enqueue(nullptr);
  timer->mark(1, nullptr);
  return timer->milliseconds(0, 1) * 1e-3;
}

std::unique_ptr<Built> buildOnNull(const graph::Graph& graph, int wholeTrials, compile::TimingCache* cache,
                                   compile::BuildOptions options = {}) {
  auto built = std::make_unique<Built>();
  options.device = "null";
  options.log = &built->log;
  options.wholeTrials = wholeTrials;
  options.timingCache = cache;
  built->plan = compile::build(graph, options);
  RecordingLog log;
  const auto engine = runtime::Engine::make(built->plan, {}, log);
  const auto bytes = engine->serialize();
  built->bytes.assign(bytes.begin(), bytes.end());
  built->seconds = secondsOf(engine);
  return built;
}

TEST(WholeEngine, ExchangesKernelsWhereTheWholeIsFaster) {
  const auto graph = graph::parse(chain());
  const auto apart = buildOnNull(graph, 0, nullptr);
  const auto whole = buildOnNull(graph, 20, nullptr);
  EXPECT_LT(whole->seconds, 0.99 * apart->seconds);
  EXPECT_FALSE(apart->log.contains("Whole engine"));
  EXPECT_TRUE(whole->log.contains("Whole engine: "));
  // What the log says of the whole is what a context takes.
  const auto said =
      fmt::format("{:.4f} ms, {:.1f} % less", whole->seconds * 1e3, 100 * (1 - whole->seconds / apart->seconds));
  EXPECT_TRUE(whole->log.contains(said)) << said;
}

TEST(WholeEngine, IsTheSameInEveryBuildAndFromTheCache) {
  const auto graph = graph::parse(chain());
  compile::TimingCache cache;
  const auto first = buildOnNull(graph, 20, &cache);
  EXPECT_EQ(buildOnNull(graph, 20, nullptr)->bytes, first->bytes);
  const auto entries = cache.size();
  compile::TimingCache copy;
  copy.deserialize(cache.serialize());
  compile::BuildOptions strict;
  strict.errorOnTimingCacheMiss = true;
  const auto second = buildOnNull(graph, 20, &copy, strict);
  EXPECT_EQ(second->bytes, first->bytes);
  EXPECT_EQ(copy.size(), entries);
  EXPECT_TRUE(second->log.contains("Tactics: 0 timed"));
  EXPECT_TRUE(second->log.contains("by itself (from the timing cache)"));
  EXPECT_FALSE(second->log.contains("% less"));
}

// A cache that holds times but not what was decided with the whole: nothing is measured where that is forbidden, else
// all is.
TEST(WholeEngine, DecidesAnewWithoutItsEntries) {
  const auto graph = graph::parse(chain());
  compile::TimingCache cache;
  const auto first = buildOnNull(graph, 20, &cache);
  compile::TimingCache times(cache);
  int erased = 0;
  for (const auto& key : cache.keys()) {
    if (key.find("| whole ") != std::string::npos) erased += times.erase(key);
  }
  EXPECT_GT(erased, 2);
  compile::BuildOptions strict;
  strict.errorOnTimingCacheMiss = true;
  EXPECT_EQ(buildOnNull(graph, 20, &times, strict)->bytes, buildOnNull(graph, 0, &times)->bytes);
  EXPECT_EQ(times.size() + static_cast<size_t>(erased), cache.size());
  EXPECT_EQ(buildOnNull(graph, 20, &times)->bytes, first->bytes);
  EXPECT_EQ(times.keys(), cache.keys());
  // One missing entry is as good as all.
  for (const auto& key : times.keys()) {
    if (key.find("| whole ") == std::string::npos) continue;
    times.erase(key);
    break;
  }
  EXPECT_EQ(buildOnNull(graph, 20, &times)->bytes, first->bytes);
  EXPECT_EQ(times.keys(), cache.keys());
}

TEST(WholeEngine, LeavesLevelZeroAndFiltersAlone) {
  const auto graph = graph::parse(chain());
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  EXPECT_FALSE(buildOnNull(graph, 20, nullptr, options)->log.contains("Whole engine"));
  options.optimizationLevel = 3;
  options.filter = [](const graph::Node&, std::vector<compile::Candidate> candidates) { return candidates; };
  EXPECT_FALSE(buildOnNull(graph, 20, nullptr, options)->log.contains("Whole engine"));
  EXPECT_FALSE(buildOnNull(graph, -1, nullptr)->log.contains("Whole engine"));  // a device that replays nothing
}

TEST(WholeEngine, WorksAtTheOptShapesOfEachProfile) {
  auto text = chain();
  for (size_t at = 0; (at = text.find("[1,8", at)) != std::string::npos;) text.replace(at, 4, "[n,8");
  const auto graph = graph::parse(text);
  compile::BuildOptions options;
  for (const int64_t n : {2, 64})
    options.profiles.push_back({{"v0", {{1, 8, 16, 16}, {n, 8, 16, 16}, {64, 8, 16, 16}, {}, {}, {}}}});
  compile::TimingCache cache;
  const auto first = buildOnNull(graph, 20, &cache, options);
  EXPECT_EQ(first->plan.programs.size(), 2u);
  options.errorOnTimingCacheMiss = true;
  EXPECT_EQ(buildOnNull(graph, 20, &cache, options)->bytes, first->bytes);
}

compile::Option option(const std::string& variant, double seconds, Layout format, uint64_t pitched,
                       uint64_t overwritten) {
  compile::Option result;
  result.candidate = {"t", variant, {format}, {format}, pitched, pitched, overwritten};
  result.seconds = seconds;
  return result;
}

TEST(WholeEngine, RivalsStandWhereTheWinnerStood) {
  const std::vector<compile::Option> options{
      option("winner", 1.0, Layout::kLinear, 1, 2),      option("slow", 1.5, Layout::kLinear, 1, 2),
      option("dense", 1.0, Layout::kLinear, 0, 2),       option("apart", 1.0, Layout::kLinear, 1, 0),
      option("other", 1.0, Layout::kChannelsLast, 1, 2), option("third", 1.2, Layout::kLinear, 3, 2),
      option("second", 1.1, Layout::kLinear, 1, 3),      option("also third", 1.2, Layout::kLinear, 1, 2)};
  std::vector<const compile::Option*> pointers;
  for (const auto& one : options) pointers.push_back(&one);
  EXPECT_EQ(compile::rivalsOf(pointers, 0), (std::vector<size_t>{6, 7, 5}));
  EXPECT_TRUE(compile::rivalsOf(std::span(pointers).first(1), 0).empty());
}

}  // namespace
}  // namespace tenon::test
