// Random graphs through the passes and through whole builds, against the reference evaluation of the original.
#include "check_pass.h"

#include "random_graph.h"

namespace tenon::passes {
namespace {

using graph::Graph;

uint64_t variable(const char* name, uint64_t otherwise) {
  const char* wanted = std::getenv(name);
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : otherwise;
}

// How many graphs, and the first seed: scripts/fuzz_passes.py asks for more than a test run does.
uint64_t graphCount() { return variable("TENON_RANDOM_GRAPHS", 300); }
uint64_t firstSeed() { return variable("TENON_RANDOM_FIRST", 1); }

void checkPasses(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const Graph before = randomGraph(seed);
  Graph after = before;
  try {
    run(after, {});
    expectSameValues(before, after, seed);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << graph::text(before);
  }
}

TEST(RandomGraphs, PassesKeepValues) {
  for (uint64_t seed = firstSeed(); seed < firstSeed() + graphCount() && !::testing::Test::HasFailure(); ++seed) checkPasses(seed);
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
    for (uint64_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) checkPasses(seed);
  }
}

void checkBuilds(int level, uint64_t first, uint64_t last) {
  for (uint64_t seed = first; seed <= last && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Graph graph = randomGraph(seed);
    build::BuildOptions options;
    options.optimizationLevel = level;
    const auto inputs = randomInputs(graph, 2, seed);
    if (!isConstant(graph.value(graph.inputs()[0]).type.shape)) {
      plan::InputRange range;
      range.min = range.opt = range.max = inputs[0].view().dims;
      range.min[0] = 1;
      range.max[0] = 4;
      options.profiles = {{{"x", range}}};
    }
    try {
      test::expectMatchesReference(graph, inputs, options);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << graph::text(graph);
    }
  }
}

TEST(RandomGraphs, BuildsAtLevelZeroMatch) { checkBuilds(0, 1, 30); }
TEST(RandomGraphs, BuildsAtLevelOneMatch) { checkBuilds(1, 31, 50); }

}  // namespace
}  // namespace tenon::passes
