// Products by warpgroups that normalize their rows: each shape of tiles, means far from zero, rows that are kept.
#include <cmath>

#include "backends/cuda/kernels/mma90/mma90.h"
#include "cuda/forced_shape.h"
#include "cuda/variable.h"
#include "ops/op/row_moments.h"

namespace tenon::test {
namespace {

struct Rows {
  int64_t rows, columns, inner;
  std::string type = "f16";
  bool centered = true;
  bool keeps = false;
  double mean = 0;  // of the elements, whose deviation is 1
  std::string epilogue = "add(x0,x1);add(t0,x2)";
};

std::string graphOf(const Rows& p) {
  return fmt::format(R"g(graph "rows" {{
  input %x : {0}[{1},{3}]
  input %r : {0}[{1},{2}]
  const %s : {0}[{3}] = random(3)
  const %t : {0}[{3}] = random(4)
  const %w : {0}[{3},{2}] = random(5)
  const %b : {0}[{2}] = random(6)
  %m : f32[{1},{9},2] = row_moments(%x) "m"
  %y : {0}[{1},{2}]{5} = composite{{parts=[{{normalize_rows{{epsilon=1e-5 centered={4}}} [0,1,2,3]}},{{matmul{{epilogue="{6}"}} [-1,4,5,6]}}] outputs=[1{7}]}}(%x, %m, %s, %t, %w, %b, %r) "n"
  output %y
{8}}})g",
                     p.type, p.rows, p.columns, p.inner, p.centered,
                     p.keeps ? fmt::format(", %k : {}[{},{}]", p.type, p.rows, p.inner) : "", p.epilogue,
                     p.keeps ? ",0" : "", p.keeps ? "  output %k\n" : "", (p.inner + 63) / 64);
}

HostTensor rowsOf(const Rows& p) {
  auto x = randomTensor(parseDataType(p.type), {p.rows, p.inner}, 1);
  const auto view = x.view();
  for (int64_t i = 0; i < p.rows * p.inner; ++i)
    storeDouble(view.dtype, view.data, i, loadDouble(view.dtype, view.data, i) + p.mean);
  return x;
}

// The greatest of the outputs' relative errors; `shape` is forced.
double errorOf(const Rows& p, const std::string& shape) {
  const Variable on("TENON_CUDA_NORMALIZED_PRODUCTS", "1");
  const auto graph = graph::parse(graphOf(p));
  std::vector<HostTensor> inputs;
  inputs.push_back(rowsOf(p));
  inputs.push_back(randomTensor(parseDataType(p.type), {p.rows, p.columns}, 2));
  return worstErrorInShape(graph, inputs, "cuda.mma90_composite", shape);
}

std::string missing() { return backends::cuda::mma90Missing(); }

TEST_F(OnGpu, ProductsOfNormalizedRowsInEveryShape) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  for (const char* shape : {"8x1x1,1,12n", "16x1x2,3,4n", "24x1x4,1,12n", "40x2x1,1,3n", "136x1x1,1,3n", "64x2x2,2,4n",
                            "40x1x4,1,3x4n", "48x4x1,1,2n"})
    EXPECT_LE(errorOf({37, 200, 768}, shape), 2e-3) << shape;
  // Rows that are no whole steps, results that are no whole packs, several tiles of rows.
  for (const char* shape : {"40x1x2,1,4n", "24x2x1,2,3n"})
    EXPECT_LE(errorOf({61, 67, 584, "bf16"}, shape), 1.5e-2) << shape;
}

TEST_F(OnGpu, ProductsOfNormalizedRowsAsTheyAreScaled) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  EXPECT_LE(errorOf({37, 72, 320, "f16", false}, "40x1x1,1,5n"), 2e-3);
  EXPECT_LE(errorOf({37, 72, 328, "f16", false, true}, "40x1x2,1,6k"), 2e-3);
  for (const double mean : {8., -8., 100.})  // deviations: halves leave few digits of the last
    EXPECT_LE(errorOf({19, 136, 456, "f16", true, true, mean}, "24x1x1,1,8k"), mean > 10 ? 4e-3 : 2e-3) << mean;
  EXPECT_LE(errorOf({1, 136, 456, "f16", true, false, 0, "relu(x0)"}, "8x1x1,1,8n"), 2e-3);
}

TEST_F(OnGpu, ProductsOfNormalizedRowsKeepTheRows) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  for (const auto& p : {Rows{197, 136, 192, "f16", true, true}, Rows{5, 8, 8, "f16", true, true},
                        Rows{70, 1000, 72, "bf16", true, true}, Rows{70, 40, 776, "f16", true, true}})
    EXPECT_LE(errorOf(p, ""), p.type == "f16" ? 2e-3 : 1.5e-2) << p.rows;
  for (const char* shape : {"8x1x1,1,12k", "16x1x2,3,4k", "40x2x1,1,3k", "136x1x1,1,3k", "64x2x2,2,4k"})
    EXPECT_LE(errorOf({37, 200, 768, "f16", true, true}, shape), 2e-3) << shape;
}

// Blocks that take tile after tile, behind a launch that normalizes.
TEST_F(OnGpu, ProductsOfNormalizedRowsOfManyTiles) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  for (const char* shape : {"16x1x1,1,4nt", "48x2x1,1,3nt", "32x1x1,2,4nt", "32x1x1,1,3nc", "32x2x1,2,2nc"})
    EXPECT_LE(errorOf({37, 200, 328}, shape), 2e-3) << shape;
  EXPECT_LE(errorOf({61, 67, 584, "bf16"}, "32x1x1,1,3nt"), 1.5e-2);
  EXPECT_LE(errorOf({37, 72, 320, "f16", false}, "16x1x1,1,3nt"), 2e-3);
  for (const double mean : {8., 100.})
    EXPECT_LE(errorOf({19, 136, 456, "f16", true, true, mean}, "16x1x1,1,3kt"), mean > 10 ? 4e-3 : 2e-3) << mean;
  EXPECT_LE(errorOf({197, 136, 72, "f16", false, true}, "48x1x1,2,3kc"), 2e-3);
}

// Rows whose elements are alike have no deviation to divide by: what comes out is the shift.
TEST_F(OnGpu, ProductsOfNormalizedRowsOfOneValue) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const Variable on("TENON_CUDA_NORMALIZED_PRODUCTS", "1");
  const Rows p{9, 64, 136, "f16", true, true, 0, "relu(x0)"};
  auto text = graphOf(p);
  const auto at = text.find("epsilon=1e-5");
  text.replace(at, 12, "epsilon=1e-12");
  const auto graph = graph::parse(text);
  std::vector<HostTensor> inputs;
  inputs.push_back(rowsOf(p));
  for (int64_t i = 0; i < p.rows * p.inner; ++i)
    storeDouble(DataType::kF16, inputs[0].view().data, i, 37.25 * static_cast<double>(i / p.inner));
  inputs.push_back(randomTensor(DataType::kF16, {p.rows, p.columns}, 2));
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  const auto run = runOnGpu(graph, inputs, options);
  const auto expected = graph::evaluate(graph, views(inputs));
  for (size_t i = 0; i < 2; ++i) EXPECT_LE(relativeError(run.outputs[i].view(), expected[i].view()), 1e-3);
}

// The moments of a result, from tiles of every kind: several groups of columns, clusters, a last run of fewer columns.
TEST_F(OnGpu, ProductsMeasureTheirRows) {
  if (!missing().empty()) GTEST_SKIP() << missing();
  const Variable on("TENON_CUDA_NORMALIZED_PRODUCTS", "1");
  for (const char* shape :
       {"8x1x1,1,3", "24x2x1,1,3", "40x1x2,3,2", "16x4x1,2,2", "72x1x1,1,3", "16x1x1,1,2t", "48x2x1,2,3c"}) {
    const auto graph = graph::parse(R"g(graph "moments" {
  input %x : f16[37,192]
  input %r : f16[37,200]
  const %w : f16[192,200] = random(5)
  %y : f16[37,200], %m : f32[37,4,2] = composite{parts=[{matmul{epilogue="add(x0,x1)"} [0,1,2]},{row_moments [-1]}] outputs=[0,1]}(%x, %w, %r) "n"
  output %y
  output %m
})g");
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF16, {37, 192}, 1));
    inputs.push_back(randomTensor(DataType::kF16, {37, 200}, 2));
    const auto run = runInShape(graph, inputs, "cuda.mma90_composite", shape);
    // Of the result as it is stored.
    const auto y = run.outputs[0].view();
    HostTensor expected(DataType::kF32, {37, 4, 2});
    const TensorView views[] = {expected.view()};
    ops::Operator(ops::RowMoments{}).evaluate({{&y, 1}, views, nullptr});
    EXPECT_LE(relativeError(run.outputs[1].view(), expected.view()), 1e-6) << shape;
    EXPECT_LE(relativeError(y, graph::evaluate(graph, test::views(inputs))[0].view()), 1e-3) << shape;
  }
}

// Factors go into the weights, whose columns fill the halves' range; sums are those of what the product reads.
TEST(Mma90, PacksWeightsOfNormalizedRows) {
  constexpr int64_t kColumns = 67, kInner = 16, kTile = 64;
  backends::cuda::Mma90Weights weights{kColumns, kInner};
  weights.scaled = true;
  std::vector<uint16_t> w(kColumns * kInner), factors(kInner), shifts(kInner);
  for (int64_t k = 0; k < kInner; ++k) {
    factors[static_cast<size_t>(k)] = floatToHalf(1e-3f * static_cast<float>(k + 1));
    shifts[static_cast<size_t>(k)] = floatToHalf(0.25f * static_cast<float>(k));
    for (int64_t c = 0; c < kColumns; ++c)
      w[static_cast<size_t>(k * kColumns + c)] =
          floatToHalf(c == 1 ? 0.f : 1e-4f * static_cast<float>(k * (c + 1) - 5));
  }
  std::vector<char> packed(weights.packedBytes());
  weights.packScaled(w.data(), factors.data(), shifts.data(), DataType::kF16, packed.data());
  const auto* tile = reinterpret_cast<const uint16_t*>(packed.data());
  const auto* behind = reinterpret_cast<const float*>(packed.data() + weights.tileBytes());
  for (int64_t c = 0; c < kColumns; ++c) {
    const auto* numbers = behind + c / kTile * 3 * kTile + c % kTile;
    double sum = 0, shift = 0, greatest = 0;
    for (int64_t k = 0; k < kInner; ++k) {
      const double original = halfToFloat(w[static_cast<size_t>(k * kColumns + c)]);
      const double want = original * halfToFloat(factors[static_cast<size_t>(k)]);
      const double stored = halfToFloat(tile[c * kTile + (k / 8 ^ c % 8) * 8 + k % 8]);
      EXPECT_NEAR(stored * numbers[0], want, std::abs(want) * 5e-4 + numbers[0] * 1e-7);
      sum += stored;
      shift += original * halfToFloat(shifts[static_cast<size_t>(k)]);
      greatest = std::max(greatest, std::abs(stored));
    }
    EXPECT_NEAR(numbers[kTile], sum, 1e-5);
    EXPECT_NEAR(numbers[2 * kTile], shift, 1e-6 * std::max(1., std::abs(shift)));
    EXPECT_TRUE(c == 1 || (greatest >= 1 && greatest <= 2)) << greatest;
  }
  EXPECT_EQ(behind[6 * kTile + 7], halfToFloat(factors[7]));
  EXPECT_EQ(behind[6 * kTile + kInner + 7], halfToFloat(shifts[7]));
}

}  // namespace
}  // namespace tenon::test
