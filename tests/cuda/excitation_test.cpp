// Squeeze-and-excitation with constant weights, which stand in shared memory ahead of the image: each candidate.
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

}  // namespace
}  // namespace tenon::test
