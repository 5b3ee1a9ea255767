// Networks of random loops and conditionals on the CPU, against the reference: to the bit where all operators are
// exact.
#include <cstring>

#include "support/build_and_run.h"
#include "support/random_regions.h"

namespace tenon::test {
namespace {

// TENON_RANDOM_REGIONS: how many.
int regionCount() {
  const char* const wanted = std::getenv("TENON_RANDOM_REGIONS");
  return wanted != nullptr ? std::atoi(wanted) : 200;
}

TEST(Regions, AtRandom) {
  for (int seed = 1; seed <= regionCount() && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const bool exact = seed % 3 != 0;
    const auto graph = RandomRegions(static_cast<uint64_t>(seed), exact).make();
    if (graph.outputs().empty()) continue;
    const auto inputs = RandomRegions::inputsOf(graph, static_cast<uint64_t>(seed));
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cpu";
    options.log = &log;
    options.optimizationLevel = 0;
    const auto got = run(runtime::Engine::make(compile::build(graph, options), {}, log), inputs, log);
    const auto expected = graph::evaluate(graph, views(inputs));
    for (size_t i = 0; i < expected.size(); ++i) {
      if (exact) {
        EXPECT_EQ(std::memcmp(got[i].view().data, expected[i].view().data, expected[i].view().bytes()), 0)
            << "output " << i << "\n"
            << graph::text(graph);
      } else {
        EXPECT_LE(relativeError(got[i].view(), expected[i].view()), 1e-4) << "output " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
