// Squeeze-and-excitation with constant weights, which stand in shared memory ahead of the image: each candidate.
#include <cstdio>
#include <map>
#include <set>

#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

struct Image {
  int64_t images, channels, height, width, squeezed;
};

void expectRight(const Image& p) {
  const auto graph = graph::parse(fmt::format(R"g(graph "excitation" {{
  input %i : f16[{0},{1},{2},{3}]
  const %v : f16[{4},{1},1,1] = random(1)
  const %b : f16[{4}] = random(2)
  const %w : f16[{1},{4},1,1] = random(3)
  const %c : f16[{1}] = random(4)
  %x : f16[{0},{1},{2},{3}] = pointwise{{expr="relu(x0)"}}(%i) "front"
  %y : f16[{0},{1},{2},{3}] = composite{{parts=[{{reduce{{op=avg axes=[2,3] keepDims=true}} [0]}},{{convolution{{hasBias=true epilogue="relu(x0)"}} [-1,1,2]}},{{convolution{{hasBias=true epilogue="sigmoid(x0)"}} [-2,3,4]}},{{pointwise{{expr="mul(x0,x1)"}} [-3,0]}}] outputs=[3]}}(%x, %v, %b, %w, %c) "excitation"
  output %y
}})g",
                                              p.images, p.channels, p.height, p.width, p.squeezed));
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF16, {p.images, p.channels, p.height, p.width}, 5));
  const auto expected = graph::evaluate(graph, views(inputs));
  std::set<std::string> names;
  const auto run = [&](const std::string& forced) {
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.op.name() != "composite") return candidates;
      std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic != "cuda.excitation"; });
      for (const auto& candidate : candidates) names.insert(candidate.text());
      if (!forced.empty()) std::erase_if(candidates, [&](const auto& candidate) { return candidate.text() != forced; });
      return candidates;
    };
    const auto result = runOnGpu(graph, inputs, options);
    EXPECT_LE(relativeError(result.outputs[0].view(), expected[0].view()), 2e-3) << forced << " " << p.channels;
  };
  run("");
  const auto all = names;
  EXPECT_GT(all.size(), 1u);
  for (const auto& candidate : all) run(candidate);
}

TEST_F(OnGpu, ExcitationsByConstantWeights) {
  expectRight({1, 72, 6, 5, 24});
  expectRight({2, 120, 4, 4, 12});
  expectRight({1, 960, 3, 3, 240});
}

// Kernels of all joins are made at once, and equal joins are measured again once.
TEST_F(OnGpu, ExcitationsAreJoinedTogether) {
  std::string text = "graph \"several\" {\n  input %x0 : f16[1,16,4,4]\n";
  const int64_t squeezed[] = {8, 8, 4};
  for (int i = 0; i < 3; ++i) {
    text += fmt::format(
        R"g(  const %v{0} : f16[{1},16,1,1] = random({2})
  const %w{0} : f16[16,{1},1,1] = random({3})
  const %b{0} : f16[{1}] = random({4})
  const %c{0} : f16[16] = random({5})
  %m{0} : f16[1,16,1,1] = reduce{{op=avg axes=[2,3] keepDims=true}}(%x{0}) "mean{0}"
  %s{0} : f16[1,{1},1,1] = convolution{{hasBias=true epilogue="relu(x0)"}}(%m{0}, %v{0}, %b{0}) "squeeze{0}"
  %e{0} : f16[1,16,1,1] = convolution{{hasBias=true epilogue="sigmoid(x0)"}}(%s{0}, %w{0}, %c{0}) "excite{0}"
  %x{6} : f16[1,16,4,4] = pointwise{{expr="mul(x0,x1)"}}(%e{0}, %x{0}) "scale{0}"
)g",
        i, squeezed[i], 10 * i + 1, 10 * i + 2, 10 * i + 3, 10 * i + 4, i + 1);
  }
  const auto graph = graph::parse(text + "  output %x3\n}");
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  options.averageTimingIterations = 1;
  options.wholeTrials = 0;
  (void)compile::build(graph, options);
  std::map<std::string, int> timed;
  int waves = 0;
  bool isJoining = true;
  for (const auto& [severity, message] : log.lines) {
    int candidates = 0;
    if (std::sscanf(message.c_str(), "preparing %d candidates", &candidates) == 1 && candidates > 0 && isJoining)
      ++waves;
    if (message.starts_with("join_excitation:")) isJoining = false;
    if (message.starts_with("timed cuda.excitation")) ++timed[message.substr(0, message.find(": "))];
  }
  EXPECT_EQ(waves, 1);
  EXPECT_FALSE(timed.empty());
  // Two problems, each measured and measured again.
  for (const auto& [candidate, times] : timed) EXPECT_LE(times, 4) << candidate;
}

}  // namespace
}  // namespace tenon::test
