// The choice of types by time: the cheapest of all combinations, from measured times, and what an engine shows of it.
#include <map>
#include <random>
#include <set>

#include "compile/stages.h"
#include "compile/types/choose.h"
#include "compile/types/min_cut.h"
#include "plan/inspect.h"
#include "runtime/kernel.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

const compile::KernelExists kEverything = [](const graph::Node&, const compile::Problem&) { return true; };

// A graph of products and sums of random shape: every node reads one or two values before it.
std::string randomGraph(std::mt19937_64& random, int nodes) {
  std::string text = "graph \"net\" {\n  input %v0 : f32[4,4]\n  const %w : f32[4,4] = random(1)\n";
  for (int i = 0; i < nodes; ++i) {
    const auto pick = [&] { return static_cast<int>(random() % static_cast<uint64_t>(i + 1)); };
    switch (random() % 3) {
      case 0:
        text += fmt::format("  %v{0} : f32[4,4] = matmul(%v{1}, %w) \"n{0}\" from(\"n{0}\")\n", i + 1, pick());
        break;
      case 1:
        text +=
            fmt::format("  %v{0} : f32[4,4] = pointwise{{expr=\"add(x0,x1)\"}}(%v{1}, %v{2}) \"n{0}\" from(\"n{0}\")\n",
                        i + 1, pick(), pick());
        break;
      default:  // sensitive: stays in f32
        text += fmt::format("  %v{0} : f32[4,4] = pointwise{{expr=\"exp(x0)\"}}(%v{1}) \"n{0}\" from(\"n{0}\")\n",
                            i + 1, pick());
    }
  }
  return text + fmt::format("  output %v{}\n  output %v{}\n}}", nodes, nodes / 2 + 1);
}

compile::TypeTimes randomTimes(std::mt19937_64& random, const graph::Graph& graph) {
  std::uniform_real_distribution<double> seconds(1e-6, 1e-4);
  compile::TypeTimes times;
  for (size_t i = 0; i < graph.nodeCount(); ++i) {
    times.f32.push_back(seconds(random));
    times.half.push_back(seconds(random));
  }
  for (size_t i = 0; i < graph.valueCount(); ++i) {
    times.down.push_back(seconds(random) / 2);
    times.up.push_back(seconds(random) / 2);
  }
  return times;
}

// The least total of all combinations that the sets allow. f32 counts 2 % less, as in the choice.
double leastByTrial(const compile::TypeSets& sets, compile::TypeTimes times) {
  for (auto& seconds : times.f32) seconds *= 0.98;
  std::vector<graph::NodeId> free;
  compile::NodeTypes types(sets.graph().nodeCount(), DataType::kF32);
  for (const auto id : sets.graph().order()) {
    if (sets.demand(id) == DataType::kF16) types[id] = DataType::kF16;
    if (sets.may(id, DataType::kF16) && !sets.demand(id)) free.push_back(id);
  }
  double least = std::numeric_limits<double>::infinity();
  for (uint64_t mask = 0; mask < uint64_t{1} << free.size(); ++mask) {
    for (size_t i = 0; i < free.size(); ++i) types[free[i]] = (mask >> i & 1) != 0 ? DataType::kF16 : DataType::kF32;
    least = std::min(least, totalSeconds(sets, DataType::kF16, times, types));
  }
  return least;
}

TEST(Types, TheChoiceIsTheCheapestOfAll) {
  int mixed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto graph = graph::parse(randomGraph(random, 3 + static_cast<int>(seed % 9)));
    compile::TypeOptions options{{DataType::kF16}, {}, {}};
    if (seed % 4 == 1) options.layers["n1"] = DataType::kF16;
    if (seed % 4 == 2) options.layers["n2"] = DataType::kF32;
    const SymbolValues symbols;
    const compile::TypeSets sets(graph, options, symbols, kEverything);
    auto times = randomTimes(random, graph);
    const auto types = compile::cheapestTypes(sets, DataType::kF16, times);
    for (const auto id : graph.order()) {
      if (types[id] == DataType::kF16) {
        EXPECT_TRUE(sets.may(id, DataType::kF16)) << "seed " << seed;
      }
      if (const auto demand = sets.demand(id)) {
        EXPECT_EQ(types[id], *demand) << "seed " << seed;
      }
    }
    const double least = leastByTrial(sets, times);
    for (auto& seconds : times.f32) seconds *= 0.98;
    EXPECT_NEAR(totalSeconds(sets, DataType::kF16, times, types), least, 1e-9 * least) << "seed " << seed;
    const std::set<DataType> used(types.begin(), types.end());
    mixed += used.size() > 1;
  }
  EXPECT_GT(mixed, 20) << "the cases decide nothing";
}

TEST(Types, WhatHasNoKernelInATypeIsNotInIt) {
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f32[4,4]
    const %w : f32[4,4] = random(1)
    %a : f32[4,4] = matmul(%x, %w) "a"
    %b : f32[4,4] = matmul(%a, %w) "b"
    output %b
  })g");
  const compile::TypeOptions options{{DataType::kF16}, {}, {}};
  const SymbolValues symbols;
  const compile::TypeSets sets(graph, options, symbols, kEverything);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const auto& order = graph.order();
  compile::TypeTimes times{{1e-3, 1e-3}, {1e-6, kNone}, std::vector<double>(8, 1e-6), std::vector<double>(8, 1e-6)};
  auto types = compile::cheapestTypes(sets, DataType::kF16, times);
  EXPECT_EQ(types[order[0]], DataType::kF16);
  EXPECT_EQ(types[order[1]], DataType::kF32);
  times.f32[order[1]] = kNone;
  times.half = {1, 1};
  types = compile::cheapestTypes(sets, DataType::kF16, times);
  EXPECT_EQ(types[order[0]], DataType::kF32);
  EXPECT_EQ(types[order[1]], DataType::kF16);
}

// A norm that shall divide is kept above zero by a number that f16 takes for zero: neither the norm nor what divides by
// it, or by a copy of it, is in f16. bf16 holds the number.
TEST(Types, WhatKeepsADivisorFromZeroStaysInF32) {
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f32[4,4]
    input %n : f32[4,1]
    %small : f32[4,1] = pointwise{expr="max(x0,1e-12)"} (%n) "small"
    %wide : f32[4,4] = slice{start=[0,0] size=[4,4] stride=[1,0]} (%small) "wide"
    %unit : f32[4,4] = pointwise{expr="div(x0,x1)"} (%x, %wide) "unit"
    %large : f32[4,1] = pointwise{expr="max(x0,0.001)"} (%n) "large"
    %other : f32[4,4] = pointwise{expr="div(x0,x1)"} (%x, %large) "other"
    output %unit
    output %other
  })g");
  const compile::TypeOptions options{{DataType::kF16}, {}, {}};
  const SymbolValues symbols;
  const compile::TypeSets sets(graph, options, symbols, kEverything);
  std::map<std::string, bool> inF16, inBf16;
  for (const auto id : graph.order()) {
    inF16[graph.node(id).name] = sets.may(id, DataType::kF16);
    inBf16[graph.node(id).name] = sets.may(id, DataType::kBF16);
  }
  EXPECT_FALSE(inF16["small"]);
  EXPECT_FALSE(inF16["unit"]);
  EXPECT_TRUE(inF16["large"]);
  EXPECT_EQ(inF16["other"], inBf16["unit"]);
}

// The cut takes a walk without recursion, whatever the depth.
TEST(Types, LongChainsAreCut) {
  compile::MinCut cut;
  constexpr int kVertices = 200000;
  int last = compile::MinCut::kSource;
  for (int i = 0; i < kVertices; ++i) {
    const int next = cut.addVertex();
    cut.addEdge(last, next, i == kVertices / 3 ? 5 : 7);
    last = next;
  }
  cut.addEdge(last, compile::MinCut::kSink, 7);
  const auto side = cut.solve();
  EXPECT_FALSE(side[2]);
  EXPECT_TRUE(side[static_cast<size_t>(last)]);
  EXPECT_EQ(std::count(side.begin(), side.end(), true), kVertices - kVertices / 3 + 1);
}

// On the device without hardware time follows from bytes and a hash of what is computed.
struct OnNull {
  explicit OnNull(int level, std::vector<DataType> halves = {DataType::kF16}) {
    options.device = "null";
    options.log = &log;
    options.optimizationLevel = level;
    options.types.halves = std::move(halves);
    options.profilingVerbosity = 2;
  }
  plan::Plan build(const graph::Graph& graph) { return compile::build(graph, options); }
  RecordingLog log;
  compile::BuildOptions options;
};

std::map<DataType, int> typesIn(const plan::Plan& plan) {
  std::map<DataType, int> counts;
  for (const auto& tensor : plan.programs[0].tensors) ++counts[tensor.dtype];
  return counts;
}

std::string products(int64_t extent, int count) {
  std::string text = fmt::format("graph \"net\" {{\n  input %v0 : f32[{0},{0}]\n", extent);
  for (int i = 0; i < count; ++i) {
    text += fmt::format("  const %w{1} : f32[{0},{0}] = random({1})\n", extent, i + 1);
    text += fmt::format("  %v{1} : f32[{0},{0}] = matmul(%v{2}, %w{1}) \"n{1}\" from(\"n{1}\")\n", extent, i + 1, i);
  }
  return text + fmt::format("  output %v{}\n}}", count);
}

// A small product gains less by a half than the casts around it cost. Where nothing is measured, it is a half.
TEST(Types, LevelsFourAndFiveMeasure) {
  const auto graph = graph::parse(products(4, 1));
  for (const int level : {0, 3, 4, 5}) {
    OnNull scene(level);
    const auto plan = scene.build(graph);
    EXPECT_EQ(typesIn(plan)[DataType::kF16] > 0, level < 4) << level;
    EXPECT_TRUE(scene.log.contains(level < 4 ? "Types of floating-point nodes, by rule: 1 in f16"
                                             : "Types of floating-point nodes, measured on the device: 1 in f32"));
  }
}

TEST(Types, MeasuredTypesAreTheCheapestOfWhatWasMeasured) {
  const auto graph = graph::parse(products(96, 7));
  OnNull scene(4);
  auto& backend = runtime::backend("null");
  compile::TimingCache cache;
  compile::Stages stages;
  compile::OptionSource source(backend.device(), scene.options, cache, stages);
  const SymbolValues symbols;
  const compile::TypeSets sets(graph, scene.options.types, symbols, kEverything);
  const auto times = compile::measureTypes(sets, DataType::kF16, source, scene.options);
  for (const auto id : graph.order()) {
    EXPECT_GT(times.f32[id], 0);
    EXPECT_GT(times.half[id], 0);
    EXPECT_LT(times.half[id], 2 * times.f32[id]);
  }
  const auto types = compile::chooseTypes(sets, source, scene.options, backend.device());
  auto biased = times;
  for (auto& seconds : biased.f32) seconds *= 0.98;
  const double least = leastByTrial(sets, times);
  EXPECT_NEAR(totalSeconds(sets, DataType::kF16, biased, types), least, 1e-9 * least);
}

// The inspector shows the types that were chosen, and another build from the same cache makes the same engine.
TEST(Types, EnginesHaveTheTypesThatWereMeasured) {
  const auto graph = graph::parse(products(256, 6));
  compile::TimingCache cache;
  OnNull first(5);
  first.options.timingCache = &cache;
  const auto plan = first.build(graph);
  const auto types = typesIn(plan);
  ASSERT_GT(types.at(DataType::kF16), 2);
  EXPECT_NE(plan::engineJson(plan, 0).find("Row major linear FP16"), std::string::npos);
  OnNull full(5, {});
  EXPECT_EQ(plan::engineJson(full.build(graph), 0).find("FP16"), std::string::npos);
  OnNull again(5);
  again.options.timingCache = &cache;
  again.options.errorOnTimingCacheMiss = true;
  EXPECT_EQ(plan::engineJson(again.build(graph), 0), plan::engineJson(plan, 0));
  EXPECT_TRUE(again.log.contains("Tactics: 0 timed"));
}

// With both halves allowed the one with the smaller total is taken; a layer's demand stays.
TEST(Types, OneHalfWinsButDemandsStay) {
  const auto graph = graph::parse(products(256, 4));
  OnNull scene(4, {DataType::kF16, DataType::kBF16});
  scene.options.types.layers["n2"] = DataType::kBF16;
  scene.options.types.layers["n3"] = DataType::kF16;
  const auto plan = scene.build(graph);
  const auto types = typesIn(plan);
  EXPECT_GT(types.at(DataType::kF16), 0);
  EXPECT_GT(types.at(DataType::kBF16), 0);
  EXPECT_TRUE(scene.log.contains("us with f16"));
  EXPECT_TRUE(scene.log.contains("us with bf16"));
}

}  // namespace
}  // namespace tenon::test
