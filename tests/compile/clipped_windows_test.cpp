// Pooling that rounds up, whose last windows are clipped or left out, beside what ONNX Runtime 1.32 gives for 1, 2, 3,
// ...
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

struct Case {
  const char* type;
  int64_t extent, window, stride, before, after;
  std::vector<double> expected;
};

const std::vector<Case> kCases{
    {"max", 5, 1, 3, 0, 0, {1, 4}},
    {"max", 5, 1, 2, 0, 0, {1, 3, 5}},
    {"max", 7, 2, 3, 1, 1, {1, 4, 7}},
    {"max", 4, 2, 3, 0, 1, {2, 4}},
    {"max", 4, 3, 2, 0, 0, {3, 4}},
    {"max", 7, 3, 2, 1, 1, {2, 4, 6, 7}},
    {"max", 2, 4, 3, 3, 3, {1, 2}},
    {"average exclusive=true", 5, 1, 3, 0, 0, {1, 4}},
    {"average exclusive=true", 4, 3, 2, 0, 0, {2, 3.5}},
    {"average exclusive=true", 4, 2, 3, 0, 1, {1.5, 4}},
    {"average exclusive=true", 7, 3, 3, 1, 2, {1.5, 4, 6.5}},
    {"average exclusive=true", 5, 4, 4, 3, 3, {1, 3.5}},
    {"average exclusive=false", 5, 1, 3, 0, 0, {1, 4}},
    {"average exclusive=false", 4, 3, 2, 0, 0, {2, 3.5}},
    {"average exclusive=false", 4, 2, 3, 0, 1, {1.5, 2}},
    {"average exclusive=false", 7, 3, 3, 1, 2, {1, 4, 4.3333335}},
    {"average exclusive=false", 5, 4, 4, 3, 3, {0.25, 3.5}},
    {"average exclusive=false", 5, 2, 2, 0, 0, {1.5, 3.5, 5}},
    {"average exclusive=false", 5, 2, 2, 1, 1, {0.5, 2.5, 4.5}},
};

graph::Graph graphOf(const Case& c, bool dynamic) {
  graph::Graph graph("pool");
  const Extent extent = dynamic ? Extent::symbol("N") : Extent(c.extent);
  if (dynamic) graph.addSymbol("N", {graph::SymbolSource::Kind::kInputExtent, "x", 2});
  const auto x = graph.addInput("x", {DataType::kF32, {1, 1, extent}, std::nullopt});
  const auto op =
      fmt::format("pooling{{type={} window=[{}] strides=[{}] prePadding=[{}] postPadding=[{}] ceilMode=true}}", c.type,
                  c.window, c.stride, c.before, c.after);
  graph.addOutput(graph.add(ops::Operator::parse(op), "pool", {x}));
  return graph;
}

void check(const Case& c, bool dynamic, int level) {
  SCOPED_TRACE(fmt::format("{} of {}, window {}, stride {}, padding {} and {}, {}, level {}", c.type, c.extent,
                           c.window, c.stride, c.before, c.after, dynamic ? "dynamic" : "static", level));
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.log = &log;
  options.optimizationLevel = level;
  plan::InputRange range;
  range.min = {1, 1, std::min<int64_t>(c.extent, c.window)};
  range.opt = {1, 1, 9};
  range.max = {1, 1, 20};
  if (dynamic) options.profiles = {{{"x", range}}};
  std::vector<HostTensor> inputs;
  inputs.emplace_back(DataType::kF32, Dims{1, 1, c.extent});
  for (int64_t i = 0; i < c.extent; ++i) inputs[0].view().storeDouble(i, static_cast<double>(i + 1));
  const auto engine = runtime::Engine::make(compile::build(graphOf(c, dynamic), options), {}, log);
  const auto outputs = run(engine, inputs, log);
  ASSERT_EQ(outputs[0].view().count(), static_cast<int64_t>(c.expected.size()));
  for (size_t i = 0; i < c.expected.size(); ++i)
    EXPECT_NEAR(outputs[0].view().loadDouble(static_cast<int64_t>(i)), c.expected[i], 1e-6);
}

TEST(ClippedWindows, AsOnnxRuntime) {
  for (const auto& c : kCases) {
    for (const int level : {0, 3}) {
      check(c, false, level);
      check(c, true, level);
    }
  }
}

}  // namespace
}  // namespace tenon::test
