// The CUDA backend: small engines on a GPU against the reference, and what is said where there is none.
#include <algorithm>
#include <cmath>
#include <set>

#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

void expectMatchesOnGpu(const std::string& text, const std::vector<HostTensor>& inputs,
                        compile::BuildOptions options = {}) {
  const auto graph = graph::parse(text);
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto got = runOnGpu(graph, inputs, std::move(options));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LE(relativeError(got.outputs[i].view(), expected[i].view()), 1e-5) << text;
}

TEST_F(OnGpu, FusedPointwiseWithBroadcast) {
  for (const Dims& dims : {Dims{1, 1, 1}, Dims{3, 5, 7}, Dims{64, 33, 257}}) {
    const auto shape = text(toShape(dims));
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, dims, 1));
    inputs.push_back(randomTensor(DataType::kF32, {dims[1], 1}, 2));
    expectMatchesOnGpu(fmt::format(R"g(graph "pw" {{
      input %x : f32{0}
      input %y : f32[{1},1]
      %a : f32{0} = pointwise{{expr="mul(x0,x1)"}}(%x, %y) "mul" from("mul")
      %b : f32{0} = pointwise{{expr="sigmoid(x0)"}}(%a) "sigmoid" from("sigmoid")
      %c : f32{0} = pointwise{{expr="add(x0,x1)"}}(%b, %x) "add" from("add")
      output %c
    }})g",
                                   shape, dims[1]),
                       inputs);
  }
}

// Of each half that there is: right to a unit in the last place or two, also where it is next to 0.
TEST_F(OnGpu, GeluOfEveryHalf) {
  HostTensor all(DataType::kF16, {65536});
  for (uint32_t bits = 0; bits < 65536; ++bits)
    static_cast<uint16_t*>(all.view().data)[bits] = static_cast<uint16_t>(bits);
  std::vector<HostTensor> inputs;
  inputs.push_back(std::move(all));
  for (const char* name : {"gelu_erf", "gelu_tanh"}) {
    const auto graph = graph::parse(fmt::format(
        "graph \"g\" {{\ninput %x : f16[65536]\n%y : f16[65536] = pointwise{{expr=\"{}(x0)\"}}(%x) \"y\"\noutput %y\n}}",
        name));
    const auto got = runOnGpu(graph, inputs, {});
    for (int64_t i = 0; i < 65536; ++i) {
      const double x = inputs[0].view().loadDouble(i);
      const double value = got.outputs[0].view().loadDouble(i);
      const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
      const double want = std::string_view(name) == "gelu_erf" ? 0.5 * x * std::erfc(-x / std::sqrt(2.0))
                                                               : x / (1 + std::exp(-2 * inner));
      if (std::isnan(x) || std::isinf(x)) {
        EXPECT_TRUE(x > 0 ? value == x : std::isnan(x) ? std::isnan(value) : std::isnan(value) || value == 0) << x;
      } else {
        EXPECT_LE(std::fabs(value - want), std::fabs(want) / 1024 + 1.2e-7) << name << " of " << x;
      }
    }
  }
}

// What the last passes make of a network.
TEST_F(OnGpu, SeveralOutputsAndScalarWorkInFrontOfReductions) {
  for (const Dims& dims : {Dims{2, 5}, Dims{3, 7}, Dims{70, 1031}}) {
    const auto text = fmt::format(R"g(graph "several" {{
      input %x : f32[{0},{1}]
      input %w : f32[{1}]
      %y : f32[{0},{1}] = pointwise{{expr="mul(x0,x1)"}}(%x, %w) "y"
      %z : f32[{0},{1}] = pointwise{{expr="tanh(x0)"}}(%y) "z"
      %p : f32[{0},{1}] = softmax{{axis=1}}(%y) "p"
      %d : f32[{0},{1}] = pointwise{{expr="sub(x0,x1);mul(t0,t0)"}}(%p, %w) "d"
      %s : f32[{0}] = reduce{{op=sum axes=[1]}}(%d) "s"
      %m : f32[{1}] = reduce{{op=max axes=[0]}}(%z) "m"
      output %z
      output %s
      output %m
    }})g",
                                  dims[0], dims[1]);
    SCOPED_TRACE(text);
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, dims, 1));
    inputs.push_back(randomTensor(DataType::kF32, {dims[1]}, 2));
    const auto graph = graph::parse(text);
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cuda";
    options.log = &log;
    options.optimizationLevel = 0;
    std::set<std::string> kernels;
    const auto plan = compile::build(graph, options);
    for (const auto& step : plan.programs[0].steps) kernels.insert(step.kernel.name);
    EXPECT_TRUE(kernels.contains("multi_pointwise")) << fmt::format("{}", fmt::join(kernels, " "));
    EXPECT_TRUE(kernels.contains("pointwise_reduce")) << fmt::format("{}", fmt::join(kernels, " "));
    expectMatchesOnGpu(text, inputs, options);
  }
}

// Only the places whose window lies inside meet the infinite weight: no zero beyond the edges makes it a NaN.
TEST_F(OnGpu, InfiniteWeightsOfDepthwiseConvolutions) {
  std::string weights;
  for (int channel = 0; channel < 8; ++channel)
    weights += std::string(channel == 0 ? "" : ",") + "inf,1,2,1,1,-1,1,1,3";
  const auto graph = graph::parse(R"g(graph "g" {
  input %x : f32[2,8,6,5]
  const %w : f32[8,1,3,3] = {)g" + weights +
                                  R"g(}
  %y : f32[2,8,6,5] = convolution{groups=8 prePadding=[1,1] postPadding=[1,1]}(%x, %w) "y"
  output %y
})g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {2, 8, 6, 5}, 7));
  const auto expected = graph::evaluate(graph, views(inputs));
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [](const graph::Node&, std::vector<compile::Candidate> candidates) {
    const auto other = [](const compile::Candidate& c) {
      return c.text().find("cuda.depthwise_convolution") == std::string::npos;
    };
    if (!std::all_of(candidates.begin(), candidates.end(), other)) std::erase_if(candidates, other);
    return candidates;
  };
  const auto got = runOnGpu(graph, inputs, options).outputs;
  for (int64_t i = 0; i < expected[0].view().count(); ++i) {
    const double wanted = expected[0].view().loadDouble(i);
    const double value = got[0].view().loadDouble(i);
    if (std::isinf(wanted)) {
      EXPECT_EQ(value, wanted) << i;
    } else {
      EXPECT_NEAR(value, wanted, 1e-5) << i;
    }
  }
}

TEST_F(OnGpu, MatMulWithEpilogueAndDynamicRows) {
  compile::BuildOptions options;
  plan::InputRange range;
  range.min = {1, 96};
  range.opt = {64, 96};
  range.max = {512, 96};
  options.profiles = {{{"x", range}}};
  for (const int64_t rows : {1, 7, 64, 512}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, {rows, 96}, 1));
    expectMatchesOnGpu(R"g(graph "mm" {
      symbol "N" = extent(%x, 0)
      input %x : f32[N,96]
      const %w : f32[96,130] = random(5)
      const %b : f32[1,130] = random(6)
      const %v : f32[10,130] = random(7)
      %m : f32[N,130] = matmul(%x, %w) "fc1" from("fc1")
      %a : f32[N,130] = pointwise{expr="add(x0,x1)"}(%m, %b) "bias" from("bias")
      %r : f32[N,130] = pointwise{expr="relu(x0)"}(%a) "relu" from("relu")
      %y : f32[N,10] = matmul{transposeB=true}(%r, %v) "fc2" from("fc2")
      output %y
    })g",
                       inputs, options);
  }
}

TEST_F(OnGpu, BatchedMatMul) {
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {4, 3, 17, 31}, 1));
  inputs.push_back(randomTensor(DataType::kF32, {4, 3, 31, 5}, 2));
  expectMatchesOnGpu(R"g(graph "bmm" {
    input %x : f32[4,3,17,31]
    input %y : f32[4,3,31,5]
    %m : f32[4,3,17,5] = matmul(%x, %y) "bmm"
    output %m
  })g",
                     inputs);
}

TEST(Cuda, AbsenceIsAClearRefusal) {
  const auto& reason = backends::cuda::unavailableReason();
  if (reason.empty()) GTEST_SKIP() << "a GPU is here";
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  try {
    compile::build(graph::parse(R"g(graph "g" {
      input %x : f32[2]
      %y : f32[2] = pointwise{expr="relu(x0)"}(%x) "r"
      output %y
    })g"),
                   options);
    FAIL();
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenon::test
