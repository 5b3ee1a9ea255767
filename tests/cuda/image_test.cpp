// Convolutions that read a network's f32 image themselves, beside those behind a cast.
#include <cstring>
#include <limits>

#include "cuda/on_gpu.h"
#include "ops/op/reformat.h"

namespace tenon::test {
namespace {

class Disabled {
 public:
  explicit Disabled(const char* pass) { setenv("TENON_DISABLE", pass, 1); }
  ~Disabled() { unsetenv("TENON_DISABLE"); }
  Disabled(const Disabled&) = delete;
  Disabled& operator=(const Disabled&) = delete;
};

// With what halves do not hold.
HostTensor image(const Dims& dims) {
  auto tensor = randomTensor(DataType::kF32, dims, 1);
  auto* x = tensor.view().as<float>();
  const int64_t count = tensor.view().count();
  x[count / 3] = std::numeric_limits<float>::quiet_NaN();
  x[count / 2] = std::numeric_limits<float>::infinity();
  x[count - 1] = -1e30f;
  x[0] = 65519.f;
  x[1] = 1e-9f;
  return tensor;
}

void expectSameBytes(const HostTensor& a, const HostTensor& b, const std::string& what) {
  ASSERT_EQ(a.view().dims, b.view().dims);
  EXPECT_EQ(std::memcmp(a.view().data, b.view().data, a.view().bytes()), 0) << what;
}

// One kernel for both, so that sums are in one order: the values are those of the cast, bit for bit.
TEST_F(OnGpu, ImagesAreRoundedAsByACast) {
  const struct {
    Dims dims;
    std::string image, window, weights, result;
  } kForms[] = {
      {{3, 3, 39, 70}, "3,3,39,70", "strides=[2,2] prePadding=[1,1] postPadding=[1,1]", "16,3,3,3", "3,16,20,35"},
      {{1, 3, 41, 39}, "1,3,41,39", "strides=[2,2] prePadding=[3,3] postPadding=[3,3]", "40,3,7,7", "1,40,21,20"},
      {{2, 1, 18, 34}, "2,1,18,34", "prePadding=[1,1] postPadding=[1,1]", "8,1,3,3", "2,8,18,34"},
  };
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [&](const auto& candidate) {
      return (node.op.name() == "convolution" || node.op.name() == "composite") &&
             candidate.tactic != "cuda.image_convolution";
    });
    return candidates;
  };
  for (const auto& form : kForms) {
    for (const std::string cast : {"clip(x0,-65504,65504);cast.f16(t0)", "cast.f16(x0)", "cast.bf16(x0)"}) {
      const std::string half = cast.find("bf16") != std::string::npos ? "bf16" : "f16";
      const auto head = fmt::format("graph \"g\" {{\n  input %x : f32[{0}]\n  const %w : {1}[{2}] = random(3)\n",
                                    form.image, half, form.weights);
      const std::string tail = "  output %y\n}";
      const auto apart = fmt::format(
          "{}  %h : {}[{}] = pointwise{{expr=\"{}\"}}(%x)\n  %y : {}[{}] = convolution{{{}}}(%h, %w) \"c\"\n{}", head,
          half, form.image, cast, half, form.result, form.window, tail);
      const auto together = fmt::format(
          "{}  %y : {}[{}] = composite{{parts=[{{pointwise{{expr=\"{}\"}} [0]}},{{convolution{{{}}} [-1,1]}}] outputs=[1]}}(%x, %w) \"c\"\n{}",
          head, half, form.result, cast, form.window, tail);
      std::vector<HostTensor> inputs;
      inputs.push_back(image(form.dims));
      const auto expected = runOnGpu(graph::parse(apart), inputs, options);
      const auto got = runOnGpu(graph::parse(together), inputs, options);
      expectSameBytes(got.outputs[0], expected.outputs[0], form.window + " " + cast);
    }
  }
}

// f32 as it is or rounded to TF32; images of one to four channels, windows that whole runs of taps are longer than.
TEST_F(OnGpu, ImagesOfFloatsByTensorCores) {
  const struct {
    std::string image, window, weights, result;
  } kForms[] = {
      {"2,3,41,39", "strides=[2,2] prePadding=[3,3] postPadding=[3,3]", "68,3,7,7", "2,68,21,20"},
      {"1,1,18,35", "prePadding=[1,1] postPadding=[1,1] epilogue=\"relu(x0)\"", "4,1,3,3", "1,4,18,35"},
      {"3,4,32,32", "strides=[4,4]", "96,4,4,4", "3,96,8,8"},
      {"1,3,47,50", "strides=[4,4] prePadding=[2,2] postPadding=[2,2]", "24,3,11,11", "1,24,11,11"},
      {"1,2,9,17", "", "8,2,1,1", "1,8,9,17"},
  };
  for (const auto& form : kForms) {
    const auto graph = graph::parse(fmt::format(
        "graph \"g\" {{\n  input %x : f32[{}]\n  const %w : f32[{}] = random(3)\n  %y : f32[{}] = convolution{{{}}}(%x, %w) \"c\"\n  output %y\n}}",
        form.image, form.weights, form.result, form.window));
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, evaluate(graph.value(graph.inputs()[0]).type.shape, {}), 5));
    const auto expected = graph::evaluate(graph, views(inputs));
    for (const bool tf32 : {false, true}) {
      compile::BuildOptions options;
      options.optimizationLevel = 0;
      options.tf32 = tf32;
      options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
        std::erase_if(candidates, [&](const auto& candidate) {
          return node.op.name() == "convolution" && candidate.tactic != "cuda.float_image_convolution";
        });
        return candidates;
      };
      const auto got = runOnGpu(graph, inputs, options);
      const double error = relativeError(got.outputs[0].view(), expected[0].view());
      EXPECT_LT(error, tf32 ? 2e-3 : 1e-6) << form.image << " " << form.weights;
      EXPECT_GT(error, tf32 ? 2e-6 : 0) << form.image << " " << form.weights;
    }
  }
}

constexpr const char* kNetwork = R"g(graph "net" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,3,37,50]
  const %w : f32[16,3,3,3] = random(3)
  const %b : f32[16] = random(4)
  const %v : f32[8,16,1,1] = random(5)
  %c : f32[N,16,19,25] = convolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue="relu(x0)"}(%x, %w, %b) "stem" from("stem")
  %d : f32[N,8,19,25] = convolution(%c, %v) "head" from("head")
  output %d
})g";

compile::BuildOptions inHalves(Log& log) {
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  options.optimizationLevel = 0;  // by rank: a measurement might prefer the nodes apart
  options.types.halves = {DataType::kF16};
  options.profiles = {{{"x", {{1, 3, 37, 50}, {3, 3, 37, 50}, {5, 3, 37, 50}, {}, {}, {}}}}};
  return options;
}

// Names of the steps that compute.
std::string steps(const plan::Plan& plan) {
  std::string result;
  for (const auto& step : plan.programs.at(0).steps) {
    if (step.kind != plan::StepKind::kView) result += (result.empty() ? "" : ", ") + step.name;
  }
  return result;
}

TEST_F(OnGpu, ImagesOfNetworksInHalvesNeedNoCast) {
  RecordingLog log;
  const auto graph = graph::parse(kNetwork);
  const auto whole = steps(compile::build(graph, inHalves(log)));
  EXPECT_EQ(whole.find("Cast x"), std::string::npos) << whole;
  EXPECT_TRUE(whole.starts_with("stem,")) << whole;
  for (const int64_t batch : {1, 3, 5}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, {batch, 3, 37, 50}, 7));
    const auto got = runOnGpu(graph, inputs, inHalves(log));
    const Disabled pass("join_cast");
    const auto apart = steps(compile::build(graph, inHalves(log)));
    EXPECT_NE(apart.find("Cast x"), std::string::npos) << apart;
    const auto expected = runOnGpu(graph, inputs, inHalves(log));
    EXPECT_LE(relativeError(got.outputs[0].view(), expected.outputs[0].view()), 2e-3);
    if (emulated()) expectSameBytes(got.outputs[0], expected.outputs[0], "the same kernel computes both");
  }
}

}  // namespace
}  // namespace tenon::test
