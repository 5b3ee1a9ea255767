// Products by warpgroups in each shape of their tiles, at extents that are no whole ones; packed weights; proposals.
#include "backends/cuda/kernels/mma90/mma90.h"

#include <algorithm>

#include "backends/cuda/kernels/mma90/mma90_kernel.h"
#include "compile/assignment.h"
#include "cuda/forced_shape.h"

namespace tenon::test {
namespace {

using backends::cuda::Mma90Shape;

struct Product {
  int64_t rows, columns, inner;
  std::string type;
  bool transposed = false;
  std::string epilogue = {};  // of x1 by column and x2 as a whole
  std::string result = {};    // where it is not the type
};

std::string graphOf(const Product& p) {
  const auto result = p.result.empty() ? p.type : p.result;
  const bool extras = p.epilogue.find("x1") != std::string::npos;
  return fmt::format(R"g(graph "product" {{
  input %x : {0}[{1},{3}]
{9}
  const %w : {0}[{4}] = random(5)
  const %b : {0}[{2}] = random(6)
  %y : {5}[{1},{2}] = matmul{{transposeB={6}{7}}}(%x, %w{8}) "n"
  output %y
}})g",
                     p.type, p.rows, p.columns, p.inner,
                     p.transposed ? fmt::format("{},{}", p.columns, p.inner) : fmt::format("{},{}", p.inner, p.columns),
                     result, p.transposed, p.epilogue.empty() ? "" : fmt::format(" epilogue=\"{}\"", p.epilogue),
                     extras ? ", %b, %r" : "",
                     extras ? fmt::format("  input %r : {}[{},{}]", p.type, p.rows, p.columns) : "");
}

double errorOf(const Product& p, const std::string& shape) { return errorOfShape(graph::parse(graphOf(p)), shape); }

constexpr size_t kLastLayers = 8;  // tests, which can run side by side

std::string missing() { return backends::cuda::mma90Missing(); }

TEST_F(OnGpu, ProductsByWarpgroupsInEveryShape) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const std::string sum = "add(x0,x1);add(t0,x2);relu(t1)";
  const Product odd{37, 200, 584, "f16", false, sum};  // ten stages, the last one of eight
  for (const char* shape : {"8x1x1,1,10", "16x1x2,1,4", "40x1x4,1,8", "40x2x1,4,3", "24x2x2,3,4", "48x1x1,8,2",
                            "64x4x1,1,2", "40x1x1,1,2", "32x1x2,6,2", "256x1x1,1,3", "128x2x1,2,2"})
    EXPECT_LE(errorOf(odd, shape), 1.5e-3) << shape;
  const Product whole{37, 200, 768, "f16", false, sum};  // twelve steps, several in a stage
  for (const char* shape : {"40x1x4,1,3x4", "40x1x1,1,2x4", "16x1x2,2,2x2", "40x2x1,1,2x4", "24x1x4,1,6x2",
                            "16x2x2,3,1x4", "40x1x2,1,2x4", "64x1x1,2,2x2", "8x1x4,1,3x4"})
    EXPECT_LE(errorOf(whole, shape), 1.5e-3) << shape;
  const Product narrow{19, 67, 520, "bf16", true, "cast.f32(x0)", "f32"};  // rows of y that are no whole packs
  for (const char* shape : {"24x1x1,1,9", "8x2x2,4,3", "16x1x4,2,5"}) EXPECT_LE(errorOf(narrow, shape), 2e-5) << shape;
  const Product one{1, 136, 72, "bf16", true, "add(x0,x1);add(t0,x2);tanh(t1)"};
  EXPECT_LE(errorOf(one, "8x1x1,2,1"), 1e-2);
  const Product rounded{37, 72, 196, "f32", false, sum};  // seven stages of 32
  for (const char* shape : {"40x1x1,1,7", "16x2x2,3,3"}) EXPECT_LE(errorOf(rounded, shape), 1e-3) << shape;
  const Product roundedWhole{37, 72, 256, "f32", false, sum};  // eight steps of 32
  for (const char* shape : {"40x1x2,1,2x4", "16x1x1,2,2x2"}) EXPECT_LE(errorOf(roundedWhole, shape), 1e-3) << shape;
  const Product long_{197, 64, 64, "f16", true};
  for (const char* shape : {"200x1x1,1,1", "104x1x1,1,1", "72x1x1,1,1"})
    EXPECT_LE(errorOf(long_, shape), 1.5e-3) << shape;
}

// Blocks that take tile after tile: in turns and together, alone and in clusters that share rows, with ends of rows,
// columns and the inner extent, fewer tiles than blocks and several for each, rings shorter and longer than a tile.
TEST_F(OnGpu, ProductsByWarpgroupsOfManyTiles) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const std::string sum = "add(x0,x1);add(t0,x2);relu(t1)";
  const Product odd{197, 200, 328, "f16", false, sum};  // six steps, the last one of eight
  for (const char* shape :
       {"16x1x1,1,2t", "32x2x1,1,3t", "48x1x1,2,4t", "64x2x1,2,5t", "96x1x1,1,8t", "128x3x1,1,3t", "192x2x1,2,2t",
        "16x1x1,1,3c", "48x2x1,1,2c", "32x1x1,2,4c", "112x2x1,2,3c", "256x1x1,1,4c"})
    EXPECT_LE(errorOf(odd, shape), 1.5e-3) << shape;
  const Product narrow{83, 131, 72, "bf16", true, "cast.f32(x0)", "f32"};  // rows of y that are no whole packs
  for (const char* shape : {"32x1x1,1,2t", "16x2x1,2,4t", "48x1x1,1,3c"})
    EXPECT_LE(errorOf(narrow, shape), 2e-5) << shape;
  const Product one{1, 136, 72, "bf16", true, "add(x0,x1);add(t0,x2);tanh(t1)"};
  for (const char* shape : {"16x1x1,1,2t", "32x1x1,2,4c"}) EXPECT_LE(errorOf(one, shape), 1e-2) << shape;
  const Product rounded{37, 72, 196, "f32", false, sum};
  for (const char* shape : {"16x1x1,1,2t", "32x1x1,2,3c"}) EXPECT_LE(errorOf(rounded, shape), 1e-3) << shape;
  const Product many{1100, 264, 64, "f16", false, sum};  // more tiles than blocks
  for (const char* shape : {"16x1x1,1,4t", "16x1x1,2,3t"}) EXPECT_LE(errorOf(many, shape), 1.5e-3) << shape;
}

// Windows of images as rows of many tiles: strides, dilation and padding, ends of rows and of images inside a tile.
TEST_F(OnGpu, ConvolutionsByWarpgroupsOfManyTiles) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  struct Case {
    const char *attributes, *result;
  };
  for (const auto& [attributes, result] :
       {Case{"prePadding=[1,1] postPadding=[1,1]", "3,72,9,7"}, Case{"strides=[2,2] prePadding=[1,0]", "3,72,4,3"},
        Case{"prePadding=[3,3] postPadding=[3,3] dilations=[3,3]", "3,72,9,7"},
        Case{"prePadding=[6,1] postPadding=[6,1] dilations=[6,1]", "3,72,9,7"},
        Case{"strides=[2,1] prePadding=[12,5] postPadding=[12,5] dilations=[5,5]", "3,72,12,7"}}) {
    const auto graph = graph::parse(fmt::format(R"g(graph "windows" {{
  input %x : f16[3,72,9,7]
  input %r : f16[{0}]
  const %w : f16[72,72,3,3] = random(5)
  const %b : f16[72,1,1] = random(6)
  %y : f16[{0}] = convolution{{epilogue="add(x0,x1);add(t0,x2)" {1}}}(%x, %w, %b, %r) "n"
  output %y
}})g",
                                                result, attributes));
    for (const char* shape :
         {"32x1x1,1,3t", "48x2x1,2,3t", "32x1x1,2,3c", "16x1x1,1,3to", "16x1x1,2,14to", "32x1x1,2,3co"})
      EXPECT_LE(errorOfShape(graph, shape), 1.5e-3) << attributes << ", " << shape;
  }
}

// Windows of fewer channels than a stage holds, the rest of which are zeros.
TEST_F(OnGpu, ConvolutionsByWarpgroupsOfFewChannels) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  for (const int channels : {16, 24}) {
    for (const auto& [attributes, result] :
         {std::pair{"prePadding=[1,1] postPadding=[1,1]", "3,40,9,7"}, std::pair{"strides=[2,2]", "3,40,4,3"}}) {
      const auto graph = graph::parse(fmt::format(R"g(graph "windows" {{
  input %x : f16[3,{2},9,7]
  input %r : f16[{0}]
  const %w : f16[40,{2},3,3] = random(5)
  const %b : f16[40,1,1] = random(6)
  %y : f16[{0}] = convolution{{epilogue="add(x0,x1);add(t0,x2)" {1}}}(%x, %w, %b, %r) "n"
  output %y
}})g",
                                                  result, attributes, channels));
      for (const char* shape : {"32x1x1,1,3", "16x1x2,2,4", "32x1x1,1,3t", "16x1x1,2,3c"})
        EXPECT_LE(errorOfShape(graph, shape), 1.5e-3) << channels << " channels, " << attributes << ", " << shape;
    }
  }
}

// One engine at several extents: maps and tiles follow. `x` and `r` have N in front.
void expectAnyBatch(const std::string& op, const Dims& x, const Dims& r, const std::string& weights, int64_t most) {
  const Variable on("TENON_CUDA_WARPGROUPS", "1");
  const auto rest = [](const Dims& dims) { return fmt::format("{}", fmt::join(dims.begin() + 1, dims.end(), ",")); };
  const auto graph = graph::parse(fmt::format(R"g(graph "any" {{
  symbol "N" = extent(%x, 0)
  input %x : f16[N,{0}]
  input %r : f16[N,{1}]
  const %w : f16[{2}] = random(5)
  %y : f16[N,{1}] = {3}(%x, %w, %r) "n" from("l")
  output %y
}})g",
                                              rest(x), rest(r), weights, op));
  const auto at = [](Dims dims, int64_t batch) {
    dims[0] = batch;
    return dims;
  };
  const auto range = [&](const Dims& dims) {
    return plan::InputRange{at(dims, 1), at(dims, most / 2), at(dims, most)};
  };
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.profiles = {{{"x", range(x)}, {"r", range(r)}}};
  bool offered = false;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() != "matmul" && node.op.name() != "convolution") return candidates;
    std::erase_if(candidates,
                  [](const auto& candidate) { return candidate.tactic.find("mma90") == std::string::npos; });
    offered = !candidates.empty();
    return candidates;
  };
  for (const int64_t batch : {int64_t{1}, most / 3, most}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF16, at(x, batch), 1));
    inputs.push_back(randomTensor(DataType::kF16, at(r, batch), 2));
    const auto run = runOnGpu(graph, inputs, options);
    const auto error = relativeError(run.outputs[0].view(), graph::evaluate(graph, views(inputs))[0].view());
    EXPECT_LE(error, 1.5e-3) << op << ", " << batch;
  }
  EXPECT_TRUE(offered) << op;
}

TEST_F(OnGpu, ProductsByWarpgroupsOfAnyBatch) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  expectAnyBatch("matmul{epilogue=\"add(x0,x1)\"}", {1, 72}, {1, 40}, "72,40", 130);
  expectAnyBatch("convolution{epilogue=\"add(x0,x1)\" prePadding=[1,1] postPadding=[1,1]}", {1, 32, 6, 5},
                 {1, 24, 6, 5}, "24,32,3,3", 6);
  expectAnyBatch("convolution{epilogue=\"add(x0,x1)\"}", {1, 64, 4, 3}, {1, 16, 4, 3}, "16,64,1,1", 9);
}

// Nothing has to be said for them not to be there.
TEST_F(OnGpu, ProductsByWarpgroupsAreSwitchedOn) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  for (const char* value : {"1", "0"}) {
    const Variable on("TENON_CUDA_WARPGROUPS", value);
    bool offered = false;
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
      for (const auto& candidate : candidates) offered = offered || candidate.tactic == "cuda.mma90_matmul";
      return candidates;
    };
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF16, {8, 64}, 1));
    runOnGpu(graph::parse(graphOf({8, 64, 64, "f16"})), inputs, options);
    EXPECT_EQ(offered, std::string(value) == "1");
  }
}

// The proposals themselves, at extents of all kinds.
TEST_F(OnGpu, ProductsByWarpgroupsAsProposed) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  for (const auto& p :
       {Product{197, 136, 192, "f16", false, "add(x0,x1);add(t0,x2)"}, Product{49, 131, 1032, "bf16", true}}) {
    for (const auto& shape : backends::cuda::mma90Shapes(p.rows, {p.columns, p.inner}, 3))
      EXPECT_LE(errorOf(p, shape.text()), p.type == "f16" ? 1.5e-3 : 1e-2) << shape.text();
  }
}

// The last layer of a classifier, in every shape that a search may take.
class LastLayers : public OnGpu, public ::testing::WithParamInterface<size_t> {};
TEST_P(LastLayers, ProductsByWarpgroups) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  if (emulated()) GTEST_SKIP() << "hundreds of kernels, which the emulated GPU takes minutes for";
  const Product p{32, 1000, 2048, "f16", true, "add(x0,x1);add(t0,x2);cast.f32(t1)", "f32"};
  const auto shapes = backends::cuda::mma90Shapes(p.rows, {p.columns, p.inner}, 96);
  for (size_t i = GetParam(); i < shapes.size(); i += kLastLayers) {
    EXPECT_LE(errorOf(p, shapes[i].text()), 1e-3) << shapes[i].text();
  }
}
INSTANTIATE_TEST_SUITE_P(Mma90, LastLayers, ::testing::Range(size_t{0}, kLastLayers));

TEST(Mma90, ProposesShapesThatExist) {
  for (const int64_t rows : {1, 7, 49, 128, 197, 256, 3136, 100352, 16000000}) {
    for (const int64_t columns : {1, 16, 67, 768, 50257}) {
      for (const int64_t steps : {1, 2, 12, 64}) {
        for (const auto& shape : backends::cuda::mma90Shapes(rows, {columns, steps * 64 - 8}, 48))
          EXPECT_EQ(shape.depth, 1) << shape.text();
        const auto shapes = backends::cuda::mma90Shapes(rows, {columns, steps * 64}, 8);
        EXPECT_FALSE(shapes.empty()) << rows << "," << columns << "," << steps;
        for (const auto& shape : shapes) {
          EXPECT_EQ(shape.refusal(steps), "") << rows << "," << columns << "," << steps;
          EXPECT_EQ(Mma90Shape::parse(shape.text()), shape);
          EXPECT_LE(rows, shape.rows * backends::cuda::kMma90MostTiles) << shape.text();
        }
      }
    }
  }
}

// Where there are tiles for the chip.
TEST(Mma90, ProposesManyTiles) {
  for (const int64_t rows : {4096, 6304, 100352, 16000000}) {
    for (const int64_t columns : {64, 200, 768, 2304, 50257}) {
      for (const int64_t inner : {64, 584, 3072}) {
        const auto shapes = backends::cuda::mma90PersistentShapes(rows, {columns, inner}, 8);
        for (const auto& shape : shapes) {
          EXPECT_EQ(shape.refusal((inner + 63) / 64), "") << shape.text();
          EXPECT_EQ(Mma90Shape::parse(shape.text()), shape) << shape.text();
          const auto order = shape.order(rows, (columns + 63) / 64);
          EXPECT_GE(int64_t{order.down} * shape.rows, rows) << shape.text();
          EXPECT_GE(order.across * shape.parts * shape.tileGroups() * 64, columns) << shape.text();
          EXPECT_EQ(order.tiles, order.across * order.down) << shape.text();
        }
        EXPECT_EQ(shapes.empty(), rows == 4096 && columns == 64) << rows << "x" << columns;
      }
    }
  }
  EXPECT_TRUE(backends::cuda::mma90PersistentShapes(128, {768, 768}, 8).empty());
  for (const char* shape : {"24x1x1,1,4t", "272x1x1,1,2c", "208x2x1,1,2t", "64x1x2,1,4t", "64x1x1,3,4t", "64x1x1,1,1t",
                            "64x1x1,1,4x2t", "192x2x1,1,6t", "64x0x1,1,4c"})
    EXPECT_NE(Mma90Shape::parse(shape).refusal(64), "") << shape;
}

// Stages that would wait for each other for ever, and what is no tile.
TEST(Mma90, RefusesShapesThatCannotRun) {
  for (const char* shape : {"64x1x4,1,4", "12x1x1,1,1", "264x1x1,1,1", "64x4x2,1,2", "64x1x1,9,2", "64x1x1,1,0",
                            "64x1x1,1,25", "256x4x1,1,8", "64x1x2,1,2", "64x1x1,1,2x9", "64x1x1,1,2x0", "16x1x1,3,2x2",
                            "64x1x2,1,5", "64x1x2,4,5", "64x1x4,1,6x2"})
    EXPECT_NE(Mma90Shape::parse(shape).refusal(64), "") << shape;
  EXPECT_NE(Mma90Shape::parse("64x1x1,2,1").refusal(1), "");
  EXPECT_EQ(Mma90Shape::parse("64x1x4,1,4").refusal(4), "");
  EXPECT_EQ(Mma90Shape::parse("64x1x4,1,2x4").refusal(64), "");
  EXPECT_EQ(Mma90Shape::parse("64x1x2,1,6").refusal(64), "");
  EXPECT_EQ(Mma90Shape::parse("64x1x2,1,5").refusal(5), "");
}

template <typename T>
std::vector<T> packedOf(const backends::cuda::Mma90Weights& weights, const std::vector<T>& w) {
  std::vector<T> packed(weights.packedBytes() / sizeof(T), T{7});
  weights.pack(w.data(), packed.data());
  return packed;
}

// Column c at inner position k: its tile, its row of 128 bytes, pieces of 16 changed by the row.
TEST(Mma90, PacksWeightsInTheOrderOfTiles) {
  constexpr int64_t kColumns = 70, kInner = 136;
  for (const bool transposed : {false, true}) {
    std::vector<uint16_t> w(kColumns * kInner);
    for (int64_t c = 0; c < kColumns; ++c) {
      for (int64_t k = 0; k < kInner; ++k)
        w[static_cast<size_t>(transposed ? c * kInner + k : k * kColumns + c)] =
            static_cast<uint16_t>(1 + c * kInner + k);
    }
    const auto packed = packedOf({kColumns, kInner, 0, transposed}, w);
    ASSERT_EQ(packed.size(), 2u * 3 * 64 * 64);
    size_t wrong = 0;
    for (int64_t c = 0; c < 128; ++c) {
      for (int64_t k = 0; k < 192; ++k) {
        const int64_t at = ((c / 64 * 3 + k / 64) * 64 + c % 64) * 64 + (k % 64 / 8 ^ c % 8) * 8 + k % 8;
        const auto want = c < kColumns && k < kInner ? static_cast<uint16_t>(1 + c * kInner + k) : uint16_t{0};
        wrong += packed[static_cast<size_t>(at)] != want;
      }
    }
    EXPECT_EQ(wrong, 0u);
  }
}

// Elements of f32 are rounded to TF32, what is no number stays so, and a stage has half as many.
TEST(Mma90, PacksRoundedWeights) {
  std::vector<uint32_t> w(8 * 36, 0x3f801234);
  w[0] = 0x3f801000;  // between two: away from zero
  w[1] = 0x7f800000;  // infinity
  w[2] = 0x7fffffff;  // NaN
  w[3] = 0xbf800fff;
  const auto packed = packedOf({8, 36, 0, true, 4}, w);
  ASSERT_EQ(packed.size(), 2u * 64 * 32);
  EXPECT_EQ(packed[0], 0x3f802000u);
  EXPECT_EQ(packed[1], 0x7f800000u);
  EXPECT_EQ(packed[2], 0x7fffffffu);
  EXPECT_EQ(packed[3], 0xbf800000u);
  EXPECT_EQ(packed[32 + (1 ^ 0) * 4], 0x3f802000u);  // column 1: its first piece is in the second place
  EXPECT_EQ(packed[64 * 32], 0x3f802000u);           // position 32, the second stage
  EXPECT_EQ(packed[64 * 32 + 4], 0u);                // position 36 is behind the end
}

// Windows: the taps one after another, each with its channels in whole stages.
TEST(Mma90, PacksWindowsTapByTap) {
  constexpr int64_t kColumns = 9, kChannels = 72, kTaps = 6;
  std::vector<uint16_t> w(kColumns * kChannels * kTaps);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<uint16_t>(i + 1);
  const auto packed = packedOf({kColumns, kChannels, kTaps}, w);
  ASSERT_EQ(packed.size(), 2u * kTaps * 64 * 64);
  size_t wrong = 0;
  for (int64_t at = 0; at < 2 * kTaps * 64 * 64; ++at) {
    const int64_t step = at / 4096, c = at / 64 % 64, k = (at / 8 % 8 ^ c % 8) * 8 + at % 8;
    const int64_t channel = step % 2 * 64 + k;
    const bool inside = c < kColumns && channel < kChannels;
    const int64_t from = (c * kChannels + channel) * kTaps + step / 2;
    wrong += packed[static_cast<size_t>(at)] != (inside ? w[static_cast<size_t>(from)] : uint16_t{0});
  }
  EXPECT_EQ(wrong, 0u);
}

// Groups: several of few channels in one tile, zeros where a column does not read a channel; of many channels each by
// itself, in several tiles.
TEST(Mma90, PacksGroupsTogether) {
  struct Case {
    int64_t columns, inner, groups, together, tiles, chunks;
  };
  for (const auto& e :
       {Case{120, 24, 5, 2, 3, 1}, Case{272, 80, 2, 1, 6, 2}, Case{40, 4, 20, 16, 2, 1}, Case{160, 8, 8, 3, 3, 1}}) {
    constexpr int64_t kTaps = 3;
    const backends::cuda::Mma90Weights weights{e.columns, e.inner, kTaps, false, 2, false, e.groups};
    EXPECT_EQ(weights.together(), e.together);
    ASSERT_EQ(weights.tiles(), e.tiles);
    ASSERT_EQ(weights.chunks(), e.chunks);
    std::vector<uint16_t> w(static_cast<size_t>(weights.count()));
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<uint16_t>(i + 1);
    auto packed = packedOf(weights, w);
    ASSERT_EQ(packed.size(), static_cast<size_t>(e.tiles * weights.steps() * 4096));
    const int64_t ofGroup = e.columns / e.groups;
    size_t wrong = 0;
    for (int64_t c = 0; c < e.columns; ++c) {
      const int64_t part = c / weights.partColumns();
      const int64_t within = c - part * weights.partColumns();
      const int64_t tile = part * weights.partTiles() + within / 64;
      for (int64_t channel = 0; channel < e.inner; ++channel) {
        const int64_t from = c / ofGroup * e.inner + channel - part * weights.partInner();
        for (int64_t tap = 0; tap < kTaps; ++tap) {
          const int64_t step = tap * e.chunks + from / 64, r = within % 64, k = from % 64;
          auto& found = packed[static_cast<size_t>(((tile * weights.steps() + step) * 64 + r) * 64 +
                                                   (k / 8 ^ r % 8) * 8 + k % 8)];
          wrong += found != w[static_cast<size_t>((c * e.inner + channel) * kTaps + tap)];
          found = 0;
        }
      }
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_TRUE(std::all_of(packed.begin(), packed.end(), [](uint16_t v) { return v == 0; }));
  }
}

}  // namespace
}  // namespace tenon::test
