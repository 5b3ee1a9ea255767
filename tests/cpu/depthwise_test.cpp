// Depthwise convolutions by own kernels: against the reference, and the same on one thread and on several.
#include <cstring>

#include "core/platform/threads.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

struct Case {
  int64_t batch = 1, channels = 1, height = 1, width = 1;
  int64_t size = 3, stride = 1, before = 1, after = 1, dilation = 1;
  std::string epilogue;
  int64_t outExtent(int64_t extent) const { return (extent + before + after - dilation * (size - 1) - 1) / stride + 1; }
};

std::string textOf(const Case& c) {
  std::string text = fmt::format(
      "graph \"g\" {{\n  input %x : f32[{0},{1},{2},{3}]\n  const %w : f32[{1},1,{4},{4}] = random(1)\n"
      "  const %b : f32[{1}] = random(2)\n  const %s : f32[{1},1,1] = random(3)\n",
      c.batch, c.channels, c.height, c.width, c.size);
  text += fmt::format(
      "  %y : f32[{0},{1},{2},{3}] = convolution{{strides=[{4}, {4}] dilations=[{5}, {5}] prePadding=[{6}, {6}] "
      "postPadding=[{7}, {7}] groups={1} hasBias=true{8}}}(%x, %w, %b{9}) \"depthwise\"\n  output %y\n}}\n",
      c.batch, c.channels, c.outExtent(c.height), c.outExtent(c.width), c.stride, c.dilation, c.before, c.after,
      c.epilogue.empty() ? "" : fmt::format(" epilogue=\"{}\"", c.epilogue),
      c.epilogue.find("x1") != std::string::npos ? ", %s" : "");
  return text;
}

void check(const Case& c) {
  const auto text = textOf(c);
  SCOPED_TRACE(text);
  size_t offered = 0;
  compile::BuildOptions options;
  RecordingLog log;
  options.device = "cpu";
  options.log = &log;
  options.optimizationLevel = 0;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() != "convolution") return candidates;
    std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic != "cpu.depthwise"; });
    offered += candidates.size();
    return candidates;
  };
  const auto graph = graph::parse(text);
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, evaluate(graph.value(graph.inputs()[0]).type.shape, {}), 7));
  expectMatchesReference(graph, inputs, options);
  EXPECT_GT(offered, 0u);
  const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
  const auto together = run(engine, inputs, log);
  const platform::RunningThread one, two, three;
  const auto alone = run(engine, inputs, log);
  EXPECT_EQ(std::memcmp(alone[0].view().data, together[0].view().data, alone[0].view().bytes()), 0);
}

TEST(Depthwise, WindowsStridesAndPadding) {
  check({.channels = 24, .height = 19, .width = 21, .epilogue = "relu(x0)"});
  check({.channels = 64, .height = 16, .width = 16, .stride = 2, .before = 0});
  check({.channels = 33, .height = 17, .width = 13, .stride = 2, .epilogue = "clip(x0,0,6)"});
  check({.channels = 20, .height = 15, .width = 11, .size = 5, .before = 2, .after = 2});
  check({.channels = 41, .height = 15, .width = 31, .size = 5, .before = 2, .after = 2, .epilogue = "relu(x0)"});
  check({.channels = 36, .height = 14, .width = 40, .size = 5, .stride = 2, .before = 2, .after = 2});
  check({.channels = 16, .height = 9, .width = 9, .size = 5, .stride = 2, .before = 1, .after = 2});
  // Images of fewer lines than the window has, and windows that meet none.
  for (const int64_t height : {1, 2, 3}) {
    check({.channels = 24, .height = height, .width = 21, .size = 5, .before = 2, .after = 2});
    check({.channels = 24, .height = height, .width = 21, .size = 5, .stride = 2, .before = 6, .after = 7});
  }
  check({.channels = 17, .height = 12, .width = 9, .before = 2, .after = 0});
  check({.channels = 17, .height = 12, .width = 9, .stride = 2, .before = 2, .after = 2});
  check({.channels = 48, .height = 20, .width = 15, .before = 2, .after = 2, .dilation = 2});
  check({.channels = 16, .height = 9, .width = 30, .stride = 3, .before = 0, .after = 0});
  check({.channels = 40, .height = 7, .width = 7, .size = 7, .before = 3, .after = 3});
  check({.channels = 1000, .height = 5, .width = 3});
  check({.channels = 24, .height = 1, .width = 501});  // parts of a row
  check({.batch = 2, .channels = 17, .height = 1, .width = 333, .size = 5, .stride = 2, .before = 2, .after = 2});
  check({.channels = 33, .height = 2, .width = 150, .before = 2, .after = 2, .dilation = 2, .epilogue = "relu(x0)"});
  check({.channels = 8});
  check({.channels = 8, .height = 2, .stride = 2});
}

TEST(Depthwise, RowsOfEveryWidth) {
  for (int64_t width = 1; width <= 19; width += 3) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t before : {0, 1}) {
        if (width + before < 2) continue;
        check({.channels = 18 + width,
               .height = 5,
               .width = width,
               .stride = stride,
               .before = before,
               .epilogue = "relu(x0)"});
      }
    }
  }
}

TEST(Depthwise, EveryNumberOfChannels) {
  for (int64_t channels = 2; channels <= 70; channels += 5) check({.channels = channels, .height = 6, .width = 7});
}

TEST(Depthwise, Epilogues) {
  check({.batch = 2, .channels = 48, .height = 9, .width = 10, .epilogue = "sigmoid(x0);mul(x0,t0)"});
  check({.channels = 23, .height = 9, .width = 10, .epilogue = "sigmoid(x0);mul(x0,t0)"});
  check({.channels = 24, .height = 9, .width = 10, .epilogue = "hard_sigmoid(x0,0.2,0.5);mul(x0,t0);relu(t1)"});
  check({.channels = 40, .height = 9, .width = 10, .epilogue = "leaky_relu(x0,x1)"});
  check({.channels = 21, .height = 9, .width = 10, .stride = 2, .epilogue = "leaky_relu(x0,0.1);clip(t0,-0.1,1)"});
  check(
      {.channels = 40, .height = 9, .width = 19, .size = 5, .before = 2, .after = 2, .epilogue = "leaky_relu(x0,x1)"});
  check({.channels = 36, .height = 8, .width = 8, .epilogue = "mul(x0,x1);tanh(t0)"});
}

}  // namespace
}  // namespace tenon::test
