// Tiles of depthwise convolutions: what is offered to the tuner, their text, and that each computes the same.
#include <set>

#include "backends/cuda/kernels/depthwise/depthwise_forms.h"
#include "cuda/on_gpu.h"
#include "ops/op/convolution.h"

namespace tenon::test {
namespace {

namespace cuda = backends::cuda;

cuda::WindowParameters windows(int64_t images, int64_t channels, int64_t size, const std::string& op, int64_t kernel,
                               int64_t result) {
  const auto parsed = ops::Operator::parse(op);
  const std::vector<runtime::TensorShape> inputs{
      {DataType::kF16, {images, channels, size, size}, Layout::kChannelsLast},
      {DataType::kF16, {channels, 1, kernel, kernel}, Layout::kLinear}};
  const std::vector<runtime::TensorShape> outputs{
      {DataType::kF16, {images, channels, result, result}, Layout::kChannelsLast}};
  cuda::WindowLaunch parameters;
  parameters.set(*parsed.as<ops::Convolution>(), {inputs, outputs, nullptr}, outputs[0], inputs[0]);
  return parameters;
}

TEST(DepthwiseTiles, AreSeveralAndQuiteDifferent) {
  const auto p = windows(128, 240, 28, "convolution{groups=240 prePadding=[2,2] postPadding=[2,2]}", 5, 28);
  ASSERT_TRUE(cuda::worksDownRows(p));
  const auto choices = cuda::depthwiseChoices(p, 128, {2, 2}, 6);
  EXPECT_EQ(choices.size(), 6u);
  std::set<std::string> texts;
  for (size_t i = 0; i < choices.size(); ++i) {
    EXPECT_TRUE(texts.insert(choices[i].text()).second) << choices[i].text();
    if (i > 0) {
      EXPECT_GE(choices[i].cost, choices[i - 1].cost);
    }
    const auto& tile = choices[i].tile;
    EXPECT_GE(int64_t{tile.channels} * tile.channelTiles, 240);
    EXPECT_GE(int64_t{tile.rows} * tile.heights, 28);
    EXPECT_GE(int64_t{tile.strips} * tile.columnTiles * choices[i].form.places, 28);
  }
  EXPECT_EQ(cuda::depthwiseChoices(p, 128, {2, 2}, 1).at(0).text(), choices[0].text());
}

TEST(DepthwiseTiles, HaveTextThatReadsBack) {
  const auto p = windows(1, 96, 56, "convolution{groups=96 strides=[2,2] prePadding=[1,1] postPadding=[1,1]}", 3, 28);
  for (const auto& choice : cuda::depthwiseChoices(p, 1, {2, 2}, 6)) {
    const auto read = cuda::parseDepthwise(choice.text(), p, {2, 2});
    EXPECT_EQ(read.text(), choice.text());
    EXPECT_EQ(read.form.variant(), choice.form.variant());
    EXPECT_EQ(cuda::blocksOfImage(read.tile), cuda::blocksOfImage(choice.tile));
  }
  for (const char* wrong : {"", "2x4", "2x4:", "2x4:16,2", "2x4:16,2,0", "2x4:16,2,-1", "2x4:16,2,99999999",
                            "3x4:16,2,7", "2x4:16,2,7,8", "2x4:12,2,7", "2x4:16384,2,7", "2x4:16,4096,7"}) {
    EXPECT_THROW((void)cuda::parseDepthwise(wrong, p, {2, 2}), UserError) << wrong;
  }
}

// Of 7x7 in halves without a stride, by tensor cores first.
TEST(DepthwiseTiles, OfLongSumsOnTensorCores) {
  const auto p = windows(32, 96, 56, "convolution{groups=96 prePadding=[3,3] postPadding=[3,3]}", 7, 56);
  const auto choices = cuda::depthwiseChoices(p, 32, {2, 2}, 6);
  ASSERT_FALSE(choices.empty());
  EXPECT_TRUE(choices[0].form.byStrips());
  for (const auto& choice : choices) {
    EXPECT_EQ(cuda::parseDepthwise(choice.text(), p, {2, 2}).text(), choice.text());
    if (!choice.form.byStrips()) continue;
    const auto& tile = choice.tile;
    EXPECT_GE(int64_t{tile.strips} * tile.columnTiles * 8, 56);
    const int64_t lines = 16 / tile.strips * choice.form.blocks(tile, 32) / tile.channelTiles / tile.columnTiles;
    EXPECT_GE(lines, int64_t{32} * tile.heights);
  }
  for (const auto& choice : cuda::depthwiseChoices(p, 32, {4, 4}, 6)) EXPECT_FALSE(choice.form.byStrips());
  const auto strided = windows(2, 8, 15, "convolution{groups=8 strides=[2,2]}", 7, 5);
  for (const auto& choice : cuda::depthwiseChoices(strided, 2, {2, 2}, 6)) EXPECT_FALSE(choice.form.byStrips());
  for (const char* wrong : {"8x4:24,7,14", "8x4:48,1,1", "8x4:16,17,1", "8x4:16,0,1"}) {
    EXPECT_THROW((void)cuda::parseDepthwise(wrong, p, {2, 2}), UserError) << wrong;
  }
}

TEST(DepthwiseTiles, NoneWhereRowsDoNotGoDown) {
  EXPECT_FALSE(cuda::worksDownRows(windows(1, 8, 8, "convolution{groups=8 dilations=[2,2]}", 3, 4)));
  EXPECT_FALSE(cuda::worksDownRows(windows(1, 8, 8, "convolution{groups=8 strides=[1,2]}", 3, 6)));
  EXPECT_TRUE(cuda::depthwiseChoices(windows(1, 8, 11, "convolution{groups=8}", 9, 3), 1, {2, 2}, 6).empty());
}

TEST_F(OnGpu, TuningOffersTilesOfDepthwiseConvolutions) {
  std::set<std::string> offered;
  std::string wanted;
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.as<ops::Convolution>() == nullptr) return candidates;
    std::vector<compile::Candidate> mine;
    for (const auto& candidate : candidates) {
      if (candidate.tactic != "cuda.depthwise_convolution") continue;
      offered.insert(candidate.variant);
      if (candidate.variant == wanted) mine.push_back(candidate);
    }
    return mine;
  };
  const auto graph = graph::parse(R"g(graph "g" {
    input %x : f16[3,24,19,17]
    const %w : f16[24,1,5,5] = random(5)
    %y : f16[3,24,19,17] = convolution{groups=24 prePadding=[2,2] postPadding=[2,2]}(%x, %w) "n"
    output %y
  })g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF16, {3, 24, 19, 17}, 1));
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto check = [&] {
    EXPECT_LE(relativeError(runOnGpu(graph, inputs, options).outputs[0].view(), expected[0].view()), 3e-3) << wanted;
  };
  check();
  EXPECT_GE(offered.size(), 4u);
  EXPECT_TRUE(offered.contains("any"));
  for (const auto& variant : std::set(offered)) {
    wanted = variant;
    check();
  }
}

}  // namespace
}  // namespace tenon::test
