// Convolutions of images that take the maximum of windows of their result along, beside the two apart, bit for bit.
#include <algorithm>
#include <cstring>
#include <limits>

#include "cuda/on_gpu.h"
#include "cuda/variable.h"

namespace tenon::test {
namespace {

struct Form {
  Dims dims;  // of the image
  std::string window, weights, result, pooling, pooled;
  std::string cast = {};
};

std::string listOf(const Dims& dims) {
  std::string text;
  for (int i = 0; i < dims.rank; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", dims[i]);
  return text;
}

// With what halves do not hold.
HostTensor image(DataType type, const Dims& dims) {
  auto tensor = randomTensor(type, dims, 1);
  const auto& view = tensor.view();
  const int64_t count = view.count();
  storeDouble(type, view.data, count / 3, -std::numeric_limits<double>::infinity());
  storeDouble(type, view.data, count / 2, std::numeric_limits<double>::infinity());
  storeDouble(type, view.data, count - 1, -6e4);
  return tensor;
}

void expectAsApart(const Form& form) {
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  int forced = 0;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    const auto kind = node.op.name();
    if (kind != "convolution" && kind != "composite") return candidates;
    std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic != "cuda.image_convolution"; });
    ++forced;
    return candidates;
  };
  const std::string half = form.cast.find("bf16") != std::string::npos ? "bf16" : "f16";
  const std::string type = form.cast.empty() ? half : "f32";
  const std::string channels = form.weights.substr(0, form.weights.find(','));
  const auto head = fmt::format(
      "graph \"g\" {{\n  input %x : {}[{}]\n  const %w : {}[{}] = random(3)\n  const %b : {}[{}] = random(4)\n", type,
      listOf(form.dims), half, form.weights, half, channels);
  const auto convolution = fmt::format("convolution{{{} hasBias=true epilogue=\"relu(x0)\"}}", form.window);
  const auto cast = form.cast.empty() ? ""
                                      : fmt::format("  %h : {}[{}] = pointwise{{expr=\"{}\"}}(%x)\n", half,
                                                    listOf(form.dims), form.cast);
  const auto apart = fmt::format(
      "{}{}  %c : {}[{}] = {}({}, %w, %b) \"c\"\n  %y : {}[{}] = pooling{{{}}}(%c) \"p\"\n  output %y\n}}", head, cast,
      half, form.result, convolution, form.cast.empty() ? "%x" : "%h", half, form.pooled, form.pooling);
  const auto parts =
      form.cast.empty()
          ? fmt::format("{{{} [0,1,2]}},{{pooling{{{}}} [-1]}}] outputs=[1]", convolution, form.pooling)
          : fmt::format("{{pointwise{{expr=\"{}\"}} [0]}},{{{} [-1,1,2]}},{{pooling{{{}}} [-2]}}] outputs=[2]",
                        form.cast, convolution, form.pooling);
  const auto together = fmt::format("{}  %y : {}[{}] = composite{{parts=[{}}}(%x, %w, %b) \"c\"\n  output %y\n}}", head,
                                    half, form.pooled, parts);
  std::vector<HostTensor> inputs;
  inputs.push_back(image(parseDataType(type), form.dims));
  const auto expected = runOnGpu(graph::parse(apart), inputs, options);
  const auto got = runOnGpu(graph::parse(together), inputs, options);
  EXPECT_EQ(forced, 2);
  const auto& a = got.outputs[0].view();
  const auto& b = expected.outputs[0].view();
  ASSERT_EQ(a.dims, b.dims);
  EXPECT_EQ(std::memcmp(a.data, b.data, a.bytes()), 0) << together;
}

TEST_F(OnGpu, ImagesArePooledAsByThemselves) {
  const std::string seven = "strides=[2,2] prePadding=[3,3] postPadding=[3,3]";
  const std::string three = "window=[3,3] strides=[2,2] prePadding=[1,1] postPadding=[1,1]";
  for (const char* cast : {"", "clip(x0,-65504,65504);cast.f16(t0)", "cast.bf16(x0)"}) {
    expectAsApart({{2, 3, 70, 134}, seven, "64,3,7,7", "2,64,35,67", three, "2,64,18,34", cast});
    expectAsApart({{1, 3, 39, 61}, seven, "72,3,7,7", "1,72,20,31", three, "1,72,10,16", cast});
  }
  // Two rows of cells in front of a tile, as nothing stands in front of the image.
  expectAsApart(
      {{2, 3, 131, 90}, "strides=[2,2]", "32,3,3,3", "2,32,65,44", "window=[3,3] strides=[2,2]", "2,32,32,21"});
  // Windows of 2 x 2, of 2 x 3 and of 3 x 2 cells; more in front and behind; one place.
  expectAsApart({{2, 1, 64, 66}, seven, "40,1,7,7", "2,40,32,33", "window=[2,2] strides=[2,2]", "2,40,16,16"});
  expectAsApart({{1, 4, 91, 150},
                 "strides=[4,4] prePadding=[2,2] postPadding=[2,2]",
                 "24,4,5,5",
                 "1,24,23,38",
                 "window=[2,3] strides=[2,2] prePadding=[1,0] postPadding=[0,2] ceilMode=true",
                 "1,24,12,20"});
  expectAsApart({{2, 4, 37, 70},
                 "strides=[1,2] prePadding=[1,1] postPadding=[1,1]",
                 "32,4,3,3",
                 "2,32,37,35",
                 "window=[3,2] strides=[2,2] prePadding=[2,1] postPadding=[2,1]",
                 "2,32,20,18"});
  expectAsApart({{3, 3, 3, 3}, "strides=[2,2]", "64,3,3,3", "3,64,1,1", three, "3,64,1,1"});
  // Blocks with many tiles.
  expectAsApart({{40, 3, 66, 66},
                 "strides=[2,2] prePadding=[1,1] postPadding=[1,1]",
                 "64,3,3,3",
                 "40,64,33,33",
                 three,
                 "40,64,17,17"});
}

// A network of f32 in halves, whose batch is open: cast, convolution and maximum are one step.
TEST_F(OnGpu, ImagesOfNetworksArePooledByTheirConvolution) {
  const auto graph = graph::parse(R"g(graph "net" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,3,37,50]
  const %w : f32[64,3,7,7] = random(3)
  const %b : f32[64] = random(4)
  const %v : f32[8,64,1,1] = random(5)
  %c : f32[N,64,19,25] = convolution{strides=[2,2] prePadding=[3,3] postPadding=[3,3] hasBias=true epilogue="relu(x0)"}(%x, %w, %b) "stem" from("stem")
  %p : f32[N,64,10,13] = pooling{window=[3,3] strides=[2,2] prePadding=[1,1] postPadding=[1,1]}(%c) "maximum" from("maximum")
  %d : f32[N,8,10,13] = convolution(%p, %v) "head" from("head")
  output %d
})g");
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  options.optimizationLevel = 0;  // by rank: a measurement might prefer the nodes apart
  options.types.halves = {DataType::kF16};
  options.profiles = {{{"x", {{1, 3, 37, 50}, {3, 3, 37, 50}, {5, 3, 37, 50}, {}, {}, {}}}}};
  const auto hasJoined = [&] {
    const auto plan = compile::build(graph, options);
    const auto& steps = plan.programs.at(0).steps;
    return std::any_of(steps.begin(), steps.end(), [](const auto& step) { return step.name == "stem + maximum"; });
  };
  EXPECT_TRUE(hasJoined());
  for (const int64_t batch : {1, 3, 5}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, {batch, 3, 37, 50}, 7));
    const auto got = runOnGpu(graph, inputs, options);
    const auto exact = graph::evaluate(graph, views(inputs));
    EXPECT_LE(relativeError(got.outputs[0].view(), exact[0].view()), 5e-3) << batch;
    const Variable apart("TENON_DISABLE", "join_pooling");
    EXPECT_FALSE(hasJoined());
    const auto expected = runOnGpu(graph, inputs, options);
    EXPECT_LE(relativeError(got.outputs[0].view(), expected.outputs[0].view()), 2e-3) << batch;
  }
}

}  // namespace
}  // namespace tenon::test
