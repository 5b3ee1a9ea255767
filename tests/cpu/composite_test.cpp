// Kernels that compute several operators at once: against the reference, and the same on one thread and on several.
#include <cstring>

#include "core/platform/threads.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

std::vector<HostTensor> inputsOf(const graph::Graph& graph) {
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto& type = graph.value(graph.inputs()[i]).type;
    inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, {}), i + 1));
  }
  return inputs;
}

// Builds with the tactic; checks values, and that a thread that has the machine to itself and one that
// shares it get the same bits.
void check(const std::string& text) {
  SCOPED_TRACE(text);
  bool offered = false;
  compile::BuildOptions options;
  RecordingLog log;
  options.device = "cpu";
  options.log = &log;
  options.optimizationLevel = 0;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() != "composite") return candidates;
    std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != "cpu.branches"; });
    offered = offered || !candidates.empty();
    return candidates;
  };
  const auto graph = graph::parse(text);
  const auto inputs = inputsOf(graph);
  expectMatchesReference(graph, inputs, options);
  EXPECT_TRUE(offered);
  const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
  const auto together = run(engine, inputs, log);
  const platform::RunningThread one, two, three;
  const auto alone = run(engine, inputs, log);
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(std::memcmp(alone[i].view().data, together[i].view().data, alone[i].view().bytes()), 0) << "output " << i;
  }
}

// Convolutions of one input with the given numbers of output channels, each with an epilogue.
std::string branches(int64_t batch, int64_t channels, int64_t height, int64_t width, int64_t size, int64_t stride,
                     const std::vector<std::pair<int64_t, std::string>>& parts) {
  const int64_t padding = size / 2;
  std::string text = fmt::format("graph \"g\" {{\n  input %x : f32[{},{},{},{}]\n", batch, channels, height, width);
  std::string made, results, operands = "%x", outputs, tail;
  int next = 1;
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto& [columns, epilogue] = parts[p];
    text += fmt::format("  const %w{0} : f32[{1},{2},{3},{3}] = random({4})\n", p, columns, channels, size, p + 1);
    operands += fmt::format(", %w{}", p);
    std::string own = fmt::format("0,{}", next++);
    if (p % 2 == 0) {
      text += fmt::format("  const %b{} : f32[{}] = random({})\n", p, columns, p + 20);
      operands += fmt::format(", %b{}", p);
      own += fmt::format(",{}", next++);
    }
    if (epilogue.find("x1") != std::string::npos) {
      text += fmt::format("  const %e{} : f32[{},1,1] = random({})\n", p, columns, p + 40);
      operands += fmt::format(", %e{}", p);
      own += fmt::format(",{}", next++);
    }
    made += fmt::format("{}{{convolution{{strides=[{}, {}] prePadding=[{}, {}] postPadding=[{}, {}]{}{}}} [{}]}}",
                        p == 0 ? "" : ",", stride, stride, padding, padding, padding, padding,
                        p % 2 == 0 ? " hasBias=true" : "",
                        epilogue.empty() ? "" : fmt::format(" epilogue=\"{}\"", epilogue), own);
    results += fmt::format("{}%y{} : f32[{},{},{},{}]", p == 0 ? "" : ", ", p, batch, columns,
                           (height + 2 * padding - size) / stride + 1, (width + 2 * padding - size) / stride + 1);
    outputs += fmt::format("{}{}", p == 0 ? "" : ",", p);
    tail += fmt::format("  output %y{}\n", p);
  }
  return text + fmt::format("  {} = composite{{parts=[{}] outputs=[{}]}}({}) \"all\"\n{}}}", results, made, outputs,
                            operands, tail);
}

TEST(Composite, Branches) {
  check(branches(1, 64, 17, 19, 1, 1, {{64, "relu(x0)"}, {97, ""}, {17, "relu(x0)"}}));
  check(branches(2, 64, 20, 20, 1, 1, {{1, "sigmoid(x0)"}, {4, ""}, {10, ""}, {1, "relu(x0)"}}));
  check(branches(1, 33, 5, 7, 1, 1,
                 {{17, "leaky_relu(x0,x1)"}, {40, "mul(x0,x1);tanh(t0)"}, {3, "clip(x0,0,6)"}, {31, ""}}));
  check(branches(1, 3, 21, 22, 3, 2, {{8, "relu(x0)"}, {5, ""}}));
  check(branches(3, 24, 13, 9, 3, 1, {{20, "relu(x0)"}, {12, ""}, {7, "mul(x0,x1);sigmoid(t0)"}}));
  check(branches(1, 16, 1, 1, 5, 1, {{2, ""}, {2, "elu(x0,0.5)"}}));
}

TEST(Composite, BranchesOfEveryWidth) {
  for (int64_t columns = 1; columns <= 40; columns += 3) {
    check(branches(1, 12, 6, 7, 1, 1, {{columns, "relu(x0)"}, {columns + 1, "sigmoid(x0)"}, {5, ""}}));
  }
}

// Whether nodes are joined is measured, and the measurements are in the cache: the same cache, the same plan.
TEST(Composite, JoinsAreTheSameFromTheSameCache) {
  const auto graph = graph::parse(R"g(graph "g" {
  input %x : f32[1,64,20,20]
  const %u : f32[1,64,1,1] = random(1)
  const %v : f32[4,64,1,1] = random(2)
  const %w : f32[10,64,1,1] = random(3)
  %a : f32[1,1,20,20] = convolution{epilogue="sigmoid(x0)"}(%x, %u) "score"
  %b : f32[1,4,20,20] = convolution(%x, %v) "box"
  %c : f32[1,10,20,20] = convolution(%x, %w) "points"
  output %a
  output %b
  output %c
})g");
  RecordingLog log;
  compile::TimingCache cache;
  compile::BuildOptions options;
  options.device = "cpu";
  options.log = &log;
  options.timingCache = &cache;
  const auto first = compile::build(graph, options);
  options.errorOnTimingCacheMiss = true;
  const auto second = compile::build(graph, options);
  EXPECT_EQ(runtime::Engine::make(plan::Plan(first), {}, log)->serialize(),
            runtime::Engine::make(plan::Plan(second), {}, log)->serialize());
  EXPECT_TRUE(log.contains("composite (3 nodes)"));
  for (const double seconds : {1e-9, 1.0}) {
    for (const auto& key : cache.keys()) {
      if (key.find("cpu.branches") != std::string::npos) cache.insert(key, seconds);
    }
    RecordingLog own;
    options.log = &own;
    compile::build(graph, options);
    expectMatchesReference(graph, inputsOf(graph), options);
    EXPECT_EQ(own.contains("join_branches: 1 edits"), seconds < 1e-6);
  }
}

}  // namespace
}  // namespace tenon::test
