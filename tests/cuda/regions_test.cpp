// Loops and conditionals in engines of a GPU: computed on the host, between copies.
#include "on_gpu.h"

namespace tenon::test {
namespace {

TEST_F(OnGpu, LoopsAndConditionals) {
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {3, 2, 5}, 1));
  for (const int holds : {0, 1}) {
    inputs.emplace_back(DataType::kBool, Dims{});
    inputs.back().view().storeInt(0, holds);
    const auto graph = graph::parse(R"g(graph "g" {
      input %x : f32[3,2,5]
      input %c : bool[]
      const %n : i64[] = {3}
      const %w : f32[5,5] = random(3)
      const %h : f32[2,5] = random(5)
      %last : f32[2,5], %all : f32[2,3,5] = loop{states=1 counted=true next={3 [{matmul [0,2] 1 "m"},{pointwise{expr="add(x0,x1);tanh(t0)"} [3,1] 1 "a"}] [4,4]} slices=[{0 true -1}] stacks=[{1 false 3}]}(%n, %h, %x, %w) "loop"
      %y : f32[2,5] = if{then={2 [{matmul [0,1] 1 "m"}] [2]} otherwise={2 [] [0]}}(%c, %last, %w) "choice"
      %z : f32[2,5] = pointwise{expr="mul(x0,2)"}(%y) "double"
      output %z
      output %all
    })g");
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    const auto got = runOnGpu(graph, inputs, options).outputs;
    const auto expected = graph::evaluate(graph, views(inputs));
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_LT(relativeError(got[i].view(), expected[i].view()), 1e-5) << "output " << i << ", condition " << holds;
    inputs.pop_back();
  }
}

}  // namespace
}  // namespace tenon::test
