// Convolutions of points between few channels where the batch is known at run time only.
#include "cuda/on_gpu.h"
#include "ops/op/convolution.h"

namespace tenon::test {
namespace {

// With operands by channel and as large as the result.
std::string points(const std::string& extents) {
  return fmt::format(R"g(graph "points" {{
  symbol "N" = extent(%x, 0)
  input %x : f16[N,16,{0}]
  input %r : f16[N,24,{0}]
  const %s : f16[1,24,1,1] = random(7)
  const %w : f16[24,16,1,1] = random(5)
  const %b : f16[24] = random(6)
  %y : f16[N,24,{0}] = convolution{{hasBias=true epilogue="mul(x0,x1);add(t0,x2)"}}(%x, %w, %b, %s, %r) "n" from("l")
  output %y
}})g",
                     extents);
}

plan::InputRange batches(int64_t opt, const Dims& rest) {
  const auto with = [&](int64_t batch) {
    Dims dims = rest;
    dims[0] = batch;
    return dims;
  };
  plan::InputRange range;
  range.min = with(1);
  range.opt = with(opt);
  range.max = with(9);
  return range;
}

struct Points {
  explicit Points(const Dims& extents, int64_t opt)
      : graph(graph::parse(points(fmt::format("{},{}", extents[0], extents[1])))),
        x({1, 16, extents[0], extents[1]}),
        r({1, 24, extents[0], extents[1]}) {
    options.optimizationLevel = 0;
    options.profiles = {{{"x", batches(opt, x)}, {"r", batches(opt, r)}}};
    options.filter = [this](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.op.as<ops::Convolution>() == nullptr) return candidates;
      std::vector<compile::Candidate> narrow;
      for (const auto& candidate : candidates) {
        if (candidate.tactic == "cuda.narrow_convolution") narrow.push_back(candidate);
      }
      offered = !narrow.empty();
      return narrow.empty() ? candidates : narrow;
    };
  }
  double error(int64_t batch) {
    x[0] = r[0] = batch;
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF16, x, 1));
    inputs.push_back(randomTensor(DataType::kF16, r, 3));
    const auto run = runOnGpu(graph, inputs, options);
    return relativeError(run.outputs[0].view(), graph::evaluate(graph, views(inputs))[0].view());
  }

  graph::Graph graph;
  Dims x, r;
  compile::BuildOptions options;
  bool offered = false;
};

TEST_F(OnGpu, ProductsOfPointsInBatchesOfAnySize) {
  for (const Dims& extents : {Dims{5, 3}, Dims{1, 1}}) {
    Points some(extents, 4);
    for (const int64_t batch : {1, 4, 9}) EXPECT_LE(some.error(batch), 1.5e-3) << extents.text() << ", batch " << batch;
    EXPECT_EQ(some.offered, extents[0] != 1) << extents.text();  // extents of one might change
    // Of one image it is not known whether the sum's operand goes along with others.
    Points one(extents, 1);
    EXPECT_LE(one.error(9), 1.5e-3);
    EXPECT_FALSE(one.offered) << extents.text();
  }
}

}  // namespace
}  // namespace tenon::test
