// Images that grow by linear interpolation: infinities stay at the places that they weigh in.
#include <cmath>
#include <limits>

#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

TEST_F(OnGpu, ImagesGrowAroundInfinities) {
  // Five columns and eight rows between two of the input's, so that every fifth and eighth is one of these.
  const auto graph = graph::parse(R"g(graph "grow" {
  input %x : f16[1,40,38,44]
  %y : f16[1,40,297,216] = resize{mode=linear coordinates=align_corners shape=[1,40,297,216]}(%x)
  output %y
})g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF16, {1, 40, 38, 44}, 1));
  const auto& x = inputs[0].view();
  for (int64_t i = 17; i < x.count(); i += 131)
    storeDouble(x.dtype, x.data, i, (i % 2 == 0 ? 1 : -1) * std::numeric_limits<double>::infinity());
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [](const graph::Node&, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [](const auto& one) { return one.outputs[0] != Layout::kLinear; });
    return candidates;
  };
  const auto got = runOnGpu(graph, inputs, options);
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto& a = got.outputs[0].view();
  const auto& b = expected[0].view();
  int64_t infinite = 0, wrong = 0;
  for (int64_t i = 0; i < b.count(); ++i) {
    const double value = loadDouble(a.dtype, a.data, i), wanted = loadDouble(b.dtype, b.data, i);
    infinite += std::isinf(wanted) ? 1 : 0;
    const bool isRight = std::isfinite(wanted) ? std::abs(value - wanted) <= 2e-3
                         : std::isnan(wanted)  ? std::isnan(value)
                                               : value == wanted;
    wrong += isRight ? 0 : 1;
  }
  EXPECT_GT(infinite, 1000);
  EXPECT_EQ(wrong, 0) << "of " << b.count();
}

}  // namespace
}  // namespace tenon::test
