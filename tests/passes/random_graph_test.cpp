// Random graphs through the passes and through whole builds, against the reference evaluation of the original.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "ops/op/pointwise.h"
#include "random_builds.h"
#include "random_graph.h"

namespace tenon::passes {
namespace {

using graph::Graph;

// How many graphs, and the first seed: scripts/fuzz_passes.py asks for more than a test run does.
uint64_t graphCount() { return variable("TENON_RANDOM_GRAPHS", 300); }
uint64_t firstSeed() { return variable("TENON_RANDOM_FIRST", 1); }

// Counts of operators, and of scalar operators within them, over the graphs as they were made.
using Counts = std::map<std::string, int64_t>;

void count(Counts& counts, const Graph& graph) {
  for (const auto id : graph.order()) {
    const auto& op = graph.node(id).op;
    ++counts[std::string(op.name())];
    const auto* pointwise = op.as<ops::Pointwise>();
    if (pointwise == nullptr) continue;
    for (const auto& instruction : pointwise->expr.instructions)
      ++counts[fmt::format("pointwise.{}", row(instruction.op).name)];
  }
}

using Maker = Graph (*)(uint64_t seed);

void checkPasses(uint64_t seed, Counts* counts = nullptr, const Options& options = {}, Maker make = randomGraph) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  if (isTraced()) fmt::print("begin {}\n", seed), std::fflush(stdout);
  const Graph before = make(seed);
  if (counts != nullptr) count(*counts, before);
  Graph after = before;
  try {
    run(after, options);
    expectSameValues(before, after, seed);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\n" << graph::text(before);
  }
}

TEST(RandomGraphs, PassesKeepValues) {
  Counts counts;
  Failures failures;
  for (uint64_t seed = firstSeed(); seed < firstSeed() + graphCount() && !failures.tooMany(); ++seed) {
    checkPasses(seed, &counts);
    failures.note(seed);
  }
  if (!isTraced()) return;
  for (const auto& [name, times] : counts) fmt::print("operator {} {}\n", name, times);
}

TEST(RandomGraphs, PassesForGpusKeepValues) {
  Options options;
  options.device = "cuda";
  Failures failures;
  for (uint64_t seed = firstSeed(); seed < firstSeed() + graphCount() / 2 && !failures.tooMany(); ++seed) {
    checkPasses(seed, nullptr, options);
    failures.note(seed);
  }
}

// Operators that no layer has, but only builds, passes and marks of tensors put in; conditions, which shape programs
// keep and nothing reads; and plugins, which have no reference.
const std::set<std::string_view> kNeverInNetworks{"reformat", "composite",   "row_moments", "normalize_rows",
                                                  "tap",      "unfused_tap", "require",     "plugin"};

TEST(RandomGraphs, HaveEveryOperator) {
  Counts counts;
  for (uint64_t seed = 1; seed <= 3000; ++seed) count(counts, randomGraph(seed));
  for (const auto& info : ops::operatorTable()) {
    if (kNeverInNetworks.count(info.name) == 0) {
      EXPECT_GT(counts[std::string(info.name)], 0) << info.name;
    }
  }
  for (const auto& scalar : ops::scalarTable())
    EXPECT_GT(counts[fmt::format("pointwise.{}", scalar.name)], 0) << scalar.name;
}

TEST(RandomGraphs, TextKeepsValues) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Graph before = randomGraph(seed);
    expectSameValues(before, graph::parse(graph::text(before, 1 << 20)), seed);
  }
}

TEST(RandomGraphs, EachPassMayBeOff) {
  for (const auto& pass : pipeline()) {
    SCOPED_TRACE(fmt::format("without {}", pass.name));
    const ScopedVariable disable("TENON_DISABLE", std::string(pass.name));
    Options options;
    for (uint64_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) {
      options.device = seed % 2 == 0 ? "cuda" : "cpu";
      checkPasses(seed, nullptr, options);
    }
  }
}

void checkBuild(int level, bool anyOf, uint64_t seed, Maker make = randomGraph) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  if (isTraced()) fmt::print("begin {}\n", seed), std::fflush(stdout);
  const Graph graph = make(seed);
  compile::BuildOptions options;
  options.optimizationLevel = level;
  if (anyOf) options.filter = anyCandidate(seed);
  const auto inputs = randomInputs(graph, 2, seed);
  options.profiles = profilesOf(graph, inputs);
  try {
    test::RecordingLog log;
    options.device = "cpu";
    options.log = &log;
    const auto made = runtime::Engine::make(buildIfPossible(graph, options), {}, log);
    const auto engine = runtime::Engine::load(made->serialize(), {}, log);
    const auto expected = graph::evaluate(graph, test::views(inputs));
    auto got = test::run(engine, inputs, log);
    allowNumbersForNaN(expected, got);
    expectClose(graph, inputs, got, expected, 1e-4, 100, "");
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\n" << graph::text(graph);
  }
}

void checkBuilds(int level, uint64_t first, uint64_t graphs, bool anyOf = false) {
  Failures failures;
  for (uint64_t seed = first; seed < first + graphs && !failures.tooMany(); ++seed) {
    checkBuild(level, anyOf, seed);
    failures.note(seed);
  }
}

TEST(RandomGraphs, BuildsAtLevelZeroMatch) { checkBuilds(0, firstSeed(), variable("TENON_RANDOM_GRAPHS", 30)); }
TEST(RandomGraphs, BuildsAtLevelOneMatch) { checkBuilds(1, firstSeed() + 30, variable("TENON_RANDOM_GRAPHS", 20)); }

TEST(RandomGraphs, BuildsOfAnyCandidatesMatch) {
  checkBuilds(0, firstSeed(), variable("TENON_RANDOM_GRAPHS", 60), true);
}

// Bodies that are random graphs, nested: passes and builds, by the kernels of each body's operators.
TEST(RandomGraphs, RegionsMatch) {
  Failures failures;
  Options options;
  for (uint64_t seed = firstSeed(); seed < firstSeed() + variable("TENON_RANDOM_GRAPHS", 60) && !failures.tooMany();
       ++seed) {
    // Nearly all of their loops are short: in every other pair they stay loops.
    std::optional<ScopedVariable> loopsStay;
    if (seed / 4 % 2 == 0) loopsStay.emplace("TENON_DISABLE", "unroll_loops");
    options.device = seed % 2 == 0 ? "cuda" : "cpu";
    checkPasses(seed, nullptr, options, randomRegions);
    checkBuild(static_cast<int>(seed / 2 % 2), false, seed, randomRegions);
    failures.note(seed);
  }
}

// Kept from runs of many more.
TEST(RandomGraphs, SeedsThatOnceFailed) {
  for (const uint64_t seed : {114, 3033, 3071, 6755}) checkBuild(0, false, seed);
  for (const uint64_t seed : {1407, 2007, 5806, 9215, 10062, 23850, 64126, 73745, 78048, 82623})
    checkBuild(1, false, seed);
  for (const uint64_t seed : {270, 1178, 4254, 4688, 5016, 6118, 8534, 21816, 22222, 29175, 42148, 203464, 211938})
    checkBuild(0, true, seed);
  // Cancellation within a body, and a cast of what varies there.
  for (const uint64_t seed : {52064, 52071}) checkPasses(seed, nullptr, {}, randomRegions);
}

}  // namespace
}  // namespace tenon::passes
