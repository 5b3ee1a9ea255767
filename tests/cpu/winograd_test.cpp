// Both forms of Winograd's convolution: their transforms, and where the builder is offered which.
#include <cmath>
#include <random>

#include "backends/cpu/kernels/simd/winograd_simd.h"
#include "support/build_and_run.h"

namespace tenon::backends::cpu {
namespace {

// One channel in each lane, with a window of its own: the sums of products that the transforms give are the
// convolution's.
TEST(WinogradForms, TransformsGiveTheConvolution) {
  constexpr int kLanes = 32;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> values(-1.f, 1.f);
  double errors[5] = {};
  for (int round = 0; round < 50; ++round) {
    for (const int out : {2, 4}) {
      const WinogradForm form{out};
      const auto& transforms = winogradTransforms(form);
      const int in = form.in();
      std::vector<float> image(static_cast<size_t>(in * in * kLanes));
      for (auto& value : image) value = values(random);
      std::vector<double> windows(9 * kLanes);
      for (auto& value : windows) value = static_cast<double>(values(random));
      std::vector<const float*> pixels;
      for (int i = 0; i < in * in; ++i) pixels.push_back(image.data() + i * kLanes);
      std::vector<float> products(static_cast<size_t>(form.products() * kLanes));
      transforms.input(pixels.data(), kLanes, products.data(), kLanes, 0);
      for (int lane = 0; lane < kLanes; ++lane) {
        double weights[kMostWinogradProducts];
        winogradWeights(form, windows.data() + 9 * lane, weights);
        for (int p = 0; p < form.products(); ++p)
          products[static_cast<size_t>(p * kLanes + lane)] *= static_cast<float>(weights[p]);
      }
      std::vector<float> results(static_cast<size_t>(out * out * kLanes));
      transforms.output(products.data(), kLanes, kLanes, nullptr, results.data(), kLanes);
      for (int i = 0; i < out * out * kLanes; ++i) {
        const int lane = i % kLanes, y = i / kLanes / out, x = i / kLanes % out;
        double expected = 0;
        for (int k = 0; k < 9; ++k) {
          expected += windows[static_cast<size_t>(9 * lane + k)] *
                      static_cast<double>(image[static_cast<size_t>(((y + k / 3) * in + x + k % 3) * kLanes + lane)]);
        }
        const double error = std::abs(static_cast<double>(results[static_cast<size_t>(i)]) - expected);
        ASSERT_LT(error, 5e-5) << out << " at " << y << ", " << x;
        errors[out] = std::max(errors[out], error);
      }
    }
  }
  EXPECT_LT(errors[2], errors[4]) << "the small form only adds";
}

std::string imageText(int64_t batch, int64_t channels, int64_t height, int64_t width, int64_t columns,
                      const std::string& epilogue) {
  const auto y = fmt::format("f32[{},{},{},{}]", batch, columns, height, width);
  return fmt::format(
      "graph \"g\" {{\n  input %x : f32[{0},{1},{2},{3}]\n  const %w : f32[{4},{1},3,3] = random(1)\n"
      "  const %b : f32[{4}] = random(2)\n  input %r : {5}\n"
      "  %y : {5} = convolution{{prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue=\"{6}\"}}(%x, %w, %b, %r) "
      "\"conv\"\n  output %y\n}}",
      batch, channels, height, width, columns, y, epilogue);
}

// Whether the form was offered; where it was, its results are compared with the reference.
bool isOffered(const std::string& text, std::string_view form) {
  test::RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.optimizationLevel = 0;
  options.log = &log;
  bool found = false;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.name != "conv") return candidates;
    auto wanted = candidates;
    std::erase_if(wanted, [&](const auto& one) { return one.tactic != "cpu.winograd" || one.variant != form; });
    found = found || !wanted.empty();
    return wanted.empty() ? candidates : wanted;
  };
  test::expectMatchesReference(text, {}, options);
  return found;
}

TEST(WinogradForms, SmallImagesAreOfferedBoth) {
  const std::string ends[] = {"add(x0,x1);relu(t0)", "relu(x0);mul(t0,x1)", "tanh(x0);add(t0,x1)"};
  int which = 0;
  for (const auto& [height, width] : {std::pair{7, 7}, {1, 1}, {2, 5}, {14, 14}, {13, 3}}) {
    for (const auto& [channels, columns] : {std::pair{16, 32}, {37, 19}, {64, 71}}) {
      const auto text = imageText(which % 2 + 1, channels, height, width, columns, ends[which % 3]);
      SCOPED_TRACE(text);
      EXPECT_TRUE(isOffered(text, ""));
      EXPECT_TRUE(isOffered(text, kSmallWinograd));
      ++which;
    }
  }
  // Last panels of one vector, of one and a half, and of two, for vectors of 8 and 16.
  for (const int64_t columns : {16, 20, 24, 28, 40, 49, 56}) {
    const auto text = imageText(1, 17, 7, 9, columns, ends[which++ % 3]);
    SCOPED_TRACE(text);
    EXPECT_TRUE(isOffered(text, ""));
    EXPECT_TRUE(isOffered(text, kSmallWinograd));
  }
  // Whose weights meet so many patches that their way from memory counts for little.
  const auto large = imageText(1, 16, 40, 30, 16, ends[0]);
  EXPECT_TRUE(isOffered(large, ""));
  EXPECT_FALSE(isOffered(large, kSmallWinograd));
}

// Weights that may come from memory meet 64 patches and 17; pixels of an image that leaves the second cache are asked
// for.
TEST(WinogradForms, LargeWeightsAndLargeImages) {
  EXPECT_TRUE(isOffered(imageText(1, 36, 33, 33, 832, "add(x0,x1);relu(t0)"), ""));
  EXPECT_TRUE(isOffered(imageText(1, 20, 163, 170, 16, "relu(x0);mul(t0,x1)"), ""));
}

// Asking for what comes later, which may be no memory at all, changes nothing.
TEST(WinogradForms, PixelsThatAreAskedForNeedNotExist) {
  constexpr int kChannels = 19;
  for (const int out : {2, 4}) {
    const WinogradForm form{out};
    std::vector<float> image(static_cast<size_t>(form.products() * kChannels));
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 23) - 11;
    std::vector<const float*> pixels;
    for (int i = 0; i < form.products(); ++i) pixels.push_back(image.data() + i * kChannels);
    std::vector<float> products(image.size(), 7.f), others(image.size(), 8.f);
    winogradTransforms(form).input(pixels.data(), kChannels, products.data(), kChannels, 0);
    winogradTransforms(form).input(pixels.data(), kChannels, others.data(), kChannels, int64_t{1} << 40);
    EXPECT_EQ(products, others);
  }
}

}  // namespace
}  // namespace tenon::backends::cpu
