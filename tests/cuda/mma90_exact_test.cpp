// Products by warpgroups of f32 that may not be rounded to TF32: each operand is the sum of two TF32 numbers.
#include <bit>
#include <cmath>

#include "backends/cuda/kernels/mma90/mma90_kernel.h"
#include "cuda/forced_shape.h"

namespace tenon::test {
namespace {

std::string missing() { return backends::cuda::mma90Missing(); }

graph::Graph productOf(int64_t rows, int64_t columns, int64_t inner, bool transposed) {
  return graph::parse(fmt::format(
      R"g(graph "product" {{
  input %x : f32[{0},{2}]
  input %r : f32[{0},{1}]
  const %w : f32[{3}] = random(5)
  const %b : f32[{1}] = random(6)
  %y : f32[{0},{1}] = matmul{{transposeB={4} epilogue="add(x0,x1);add(t0,x2);relu(t1)"}}(%x, %w, %b, %r) "n"
  output %y
}})g",
      rows, columns, inner, transposed ? fmt::format("{},{}", columns, inner) : fmt::format("{},{}", inner, columns),
      transposed));
}

// TF32 alone is wrong by 3e-4.
constexpr double kMostError = 1e-6;

TEST_F(OnGpu, ExactProductsByWarpgroupsInEveryShape) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const auto odd = productOf(37, 200, 292, false);  // ten steps, the last one of four
  for (const char* shape : {"8x1x1,1,10e", "16x1x2,1,4e", "40x1x4,1,8e", "40x2x1,4,2e", "24x2x2,3,4e", "48x1x1,8,2e",
                            "16x4x1,1,2e", "40x1x1,1,2e", "32x1x2,6,2e", "128x1x1,1,2e", "104x2x1,2,2e"})
    EXPECT_LE(errorOfShape(odd, shape), kMostError) << shape;
  const auto whole = productOf(37, 200, 384, true);  // twelve steps, several in a stage
  for (const char* shape : {"40x1x4,1,2x4e", "40x1x1,1,2x4e", "16x1x2,2,2x2e", "24x2x1,1,2x2e", "24x1x4,1,2x4e",
                            "16x2x2,3,1x4e", "8x1x4,1,3x4e"})
    EXPECT_LE(errorOfShape(whole, shape), kMostError) << shape;
  const auto narrow = productOf(19, 67, 260, true);  // rows of y that are no whole packs
  for (const char* shape : {"24x1x1,1,9e", "8x2x2,4,3e", "16x1x4,2,5e"})
    EXPECT_LE(errorOfShape(narrow, shape), kMostError) << shape;
  if (emulated()) return;  // all kinds of shapes were there
  const auto large = productOf(300, 520, 1024, false);
  for (const char* shape : {"104x2x1,1,2e", "64x2x1,1,3e", "64x1x1,1,2x2e"})
    EXPECT_LE(errorOfShape(large, shape), kMostError) << shape;
}

// Layers multiply what all results of each are too small or too large by.
TEST_F(OnGpu, ExactProductsByWarpgroupsHaveNoBias) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const int64_t size = emulated() ? 64 : 256;
  const auto graph = graph::parse(fmt::format(R"g(graph "product" {{
  input %x : f32[{0},{1}]
  const %w : f32[{1},{0}] = random(5)
  %y : f32[{0},{0}] = matmul(%x, %w) "n"
  output %y
}})g",
                                              size, 4 * size));
  for (const char* shape : {"64x1x1,1,3e", "32x2x1,1,2x2e", "32x1x1,1,2x4e", "32x1x2,1,2x4e", "16x1x4,1,8e"}) {
    const auto errors = errorsOfShape(graph, shape);
    EXPECT_LE(std::abs(errors.bias), 1e-7) << shape;
    EXPECT_LE(errors.norm, 5e-7) << shape << ", bias " << errors.bias;
  }
}

TEST_F(OnGpu, ExactConvolutionsByWarpgroups) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  struct Case {
    const char *attributes, *weights, *result;
  };
  for (const auto& [attributes, weights, result] :
       {Case{"prePadding=[1,1] postPadding=[1,1]", "72,72,3,3", "3,72,9,7"},
        Case{"strides=[2,2] prePadding=[1,0]", "40,72,3,3", "3,40,4,3"}, Case{"", "64,72,1,1", "3,64,9,7"},
        Case{"groups=2 prePadding=[1,1] postPadding=[1,1]", "80,36,3,3", "3,80,9,7"}}) {
    const auto graph = graph::parse(fmt::format(R"g(graph "windows" {{
  input %x : f32[3,72,9,7]
  input %r : f32[{0}]
  const %w : f32[{2}] = random(5)
  %y : f32[{0}] = convolution{{epilogue="add(x0,x1)" {1}}}(%x, %w, %r) "n"
  output %y
}})g",
                                                result, attributes, weights));
    for (const char* shape : {"32x1x1,1,3e", "16x1x2,2,4e", "8x1x4,1,8e"})
      EXPECT_LE(errorOfShape(graph, shape), kMostError) << attributes << ", " << shape;
  }
}

// An infinity meets no zero that f32 has not: results are infinities and NaN where those of f32 are.
TEST_F(OnGpu, ExactProductsByWarpgroupsKeepInfinities) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const auto graph = graph::parse(R"g(graph "infinite" {
  input %x : f32[4,4]
  const %w : f32[6,4] = {1,1,1,1, -1,2,3,4, 1.0001,1,1,1, 0,1,1,1, inf,1,1,1, 3,-inf,0.1,7}
  %y : f32[4,6] = matmul{transposeB=true}(%x, %w) "n"
  output %y
})g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {4, 4}, 7));
  const float rows[] = {INFINITY, 1, 1, 1, 1, 2, 3, 4, 0, -1.0001f, 1, 1, -INFINITY, 0.3f, NAN, 2};
  std::memcpy(inputs[0].view().data, rows, sizeof(rows));
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  bool offered = false;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() != "matmul") return candidates;
    std::erase_if(candidates, [](const auto& one) { return one.tactic != "cuda.mma90_matmul"; });
    offered = !candidates.empty();
    return candidates;
  };
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto got = runOnGpu(graph, inputs, options).outputs;
  ASSERT_TRUE(offered);
  for (int64_t i = 0; i < 24; ++i) {
    const double wanted = expected[0].view().loadDouble(i);
    const double value = got[0].view().loadDouble(i);
    if (std::isnan(wanted)) EXPECT_TRUE(std::isnan(value)) << i << ": " << value;
    else if (std::isinf(wanted)) EXPECT_EQ(value, wanted) << i;
    else EXPECT_NEAR(value, wanted, 1e-5) << i;
  }
}

TEST(Mma90Exact, ShapesAreReadAndRefused) {
  using backends::cuda::Mma90Shape;
  const auto shape = Mma90Shape::parse("64x2x1,1,2e");
  EXPECT_TRUE(shape.isExact);
  EXPECT_EQ(shape.text(), "64x2x1,1,2e");
  EXPECT_EQ(shape.stageBytes(), 2 * Mma90Shape::parse("64x2x1,1,2").stageBytes());
  EXPECT_EQ(shape.refusal(64), "");
  for (const char* text : {"256x1x1,1,2e", "64x4x1,1,3e"}) EXPECT_NE(Mma90Shape::parse(text).refusal(64), "") << text;
  for (const int64_t rows : {1, 49, 128, 197, 3136, 100352}) {
    for (const int64_t columns : {16, 67, 768, 50257}) {
      backends::cuda::Mma90Weights weights{columns, 768, 0, false, 4};
      weights.isExact = true;
      const auto shapes = backends::cuda::mma90Shapes(rows, weights, 8);
      EXPECT_FALSE(shapes.empty()) << rows << "x" << columns;
      for (const auto& one : shapes) {
        EXPECT_TRUE(one.isExact) << one.text();
        EXPECT_EQ(one.refusal(weights.steps()), "") << one.text();
        EXPECT_EQ(Mma90Shape::parse(one.text()), one) << one.text();
      }
      EXPECT_TRUE(backends::cuda::mma90PersistentShapes(rows, weights, 8).empty());
    }
  }
}

// Both tiles of a step behind each other; together they are the element to 21 bits, the second has its sign.
TEST(Mma90Exact, PacksBothPartsOfWeights) {
  backends::cuda::Mma90Weights weights{8, 36, 0, true, 4};
  weights.isExact = true;
  std::vector<uint32_t> w(8 * 36);
  for (size_t i = 0; i < w.size(); ++i) w[i] = 0x3f800000 + static_cast<uint32_t>(i * 0x1357) + (i % 2 << 31);
  w[0] = 0x7f800000;
  w[1] = 0x7fc00000;
  w[2] = 0;
  w[3] = 0xbf800000;  // no rest
  std::vector<uint32_t> packed(weights.packedBytes() / sizeof(uint32_t), 7);
  ASSERT_EQ(packed.size(), 2u * 2 * 64 * 32);
  weights.pack(w.data(), packed.data());
  for (size_t c = 0; c < 64; ++c) {
    for (size_t k = 0; k < 64; ++k) {
      const size_t at = k / 32 * 2 * 64 * 32 + c * 32 + (k % 32 / 4 ^ c % 8) * 4 + k % 4;
      const auto seen = std::bit_cast<float>(packed[at]);
      const auto rest = std::bit_cast<float>(packed[at + 64 * 32]);
      if (c >= 8 || k >= 36) {
        EXPECT_EQ(packed[at], 0u);
        EXPECT_EQ(packed[at + 64 * 32], 0u);
        continue;
      }
      const auto want = std::bit_cast<float>(w[c * 36 + k]);
      if (!std::isfinite(want)) {
        EXPECT_EQ(std::isnan(rest), std::isnan(want));
        EXPECT_EQ(std::isinf(rest), std::isinf(want));
        continue;
      }
      EXPECT_EQ(packed[at] & 0x1fff, 0u);
      EXPECT_EQ(packed[at + 64 * 32] & 0x1fff, 0u);
      EXPECT_NEAR(double{seen} + double{rest}, want, std::abs(want) * 0x1p-21) << k;
      EXPECT_EQ(std::signbit(rest), std::signbit(want));
      EXPECT_EQ(rest == 0, want == 0);
    }
  }
}

}  // namespace
}  // namespace tenon::test
