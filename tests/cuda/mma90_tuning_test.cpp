// Products by warpgroups as the tuner measures them, beside those of the library; on a GPU their times.
#include <algorithm>
#include <map>

#include "compile/proposals.h"
#include "compile/stages.h"
#include "compile/tune/profiler.h"
#include "cuda/on_gpu.h"
#include "cuda/variable.h"

namespace tenon::test {
namespace {

struct Extents {
  int64_t rows, columns, inner;
};

std::string productOf(const Extents& e) {
  return fmt::format(R"g(graph "product" {{
  input %x : f16[{0},{2}]
  input %r : f16[{0},{1}]
  const %w : f16[{2},{1}] = random(5)
  const %b : f16[{1}] = random(6)
  %y : f16[{0},{1}] = matmul{{epilogue="add(x0,x1);add(t0,x2)"}}(%x, %w, %b, %r) "n"
  output %y
}})g",
                     e.rows, e.columns, e.inner);
}

// The same with moments of the result, and of normalized rows; the normalization alone.
std::string measuredProductOf(const Extents& e) {
  return fmt::format(R"g(graph "product" {{
  input %x : f16[{0},{2}]
  input %r : f16[{0},{1}]
  const %w : f16[{2},{1}] = random(5)
  const %b : f16[{1}] = random(6)
  %y : f16[{0},{1}], %m : f32[{0},{3},2] = composite{{parts=[{{matmul{{epilogue="add(x0,x1);add(t0,x2)"}} [0,1,2,3]}},{{row_moments [-1]}}] outputs=[0,1]}}(%x, %w, %b, %r) "n"
  output %y
  output %m
}})g",
                     e.rows, e.columns, e.inner, (e.columns + 63) / 64);
}
std::string normalizedProductOf(const Extents& e, bool keeps) {
  return fmt::format(R"g(graph "rows" {{
  input %x : f16[{0},{2}]
  input %m : f32[{0},{3},2]
  const %s : f16[{2}] = random(3)
  const %t : f16[{2}] = random(4)
  const %w : f16[{2},{1}] = random(5)
  const %b : f16[{1}] = random(6)
  %y : f16[{0},{1}]{4} = composite{{parts=[{{normalize_rows [0,1,2,3]}},{{matmul{{epilogue="add(x0,x1)"}} [-1,4,5]}}] outputs=[1{5}]}}(%x, %m, %s, %t, %w, %b) "n"
  output %y
{6}}})g",
                     e.rows, e.columns, e.inner, (e.inner + 63) / 64,
                     keeps ? fmt::format(", %k : f16[{},{}]", e.rows, e.inner) : "", keeps ? ",0" : "",
                     keeps ? "  output %k\n" : "");
}
std::string normalizationOf(const Extents& e) {
  return fmt::format(R"g(graph "rows" {{
  input %x : f16[{0},{1}]
  const %s : f16[{1}] = random(3)
  const %t : f16[{1}] = random(4)
  %y : f16[{0},{1}] = normalization{{axes=[-1]}}(%x, %s, %t) "n"
  output %y
}})g",
                     e.rows, e.inner);
}

std::string biasedProductOf(const Extents& e, const char* result) {
  return fmt::format(R"g(graph "product" {{
  input %x : f16[{0},{2}]
  const %w : f16[{2},{1}] = random(5)
  const %b : f16[{1}] = random(6)
  %y : {3}[{0},{1}] = matmul{{epilogue="{4}"}}(%x, %w, %b) "n"
  output %y
}})g",
                     e.rows, e.columns, e.inner, result,
                     std::string(result) == "f32" ? "add(x0,x1);cast.f32(t0)" : "add(x0,x1)");
}

struct Measured {
  std::string candidate;
  compile::Measurement measurement;
};

bool isPlain(const std::string& tactic) {
  return tactic == "cuda.direct_matmul" || tactic == "cuda.direct_convolution";
}

// Of each tactic that is named, fastest first; what the plainest one gives is what they are compared with.
std::map<std::string, std::vector<Measured>> measure(const std::string& network,
                                                     const std::vector<std::string>& tactics, size_t more) {
  const Variable on("TENON_CUDA_WARPGROUPS", "1");
  const Variable normalized("TENON_CUDA_NORMALIZED_PRODUCTS", "1");
  RecordingLog log;
  compile::Stages stages;
  compile::BuildOptions options;
  auto& device = backends::cuda::cudaDevice();
  const auto graph = graph::parse(network);
  const auto& node = graph.node(graph.order()[0]);
  auto problem = compile::makeProblem(graph, node, {});
  problem.more = more;
  auto proposals = compile::propose(node, problem, device, options).list;
  std::erase_if(proposals, [&](const auto& proposal) {
    const auto& tactic = proposal.option.candidate.tactic;
    return !isPlain(tactic) && std::find(tactics.begin(), tactics.end(), tactic) == tactics.end();
  });
  compile::inParallel(proposals.size(), [&](size_t i) { compile::makeReady(problem, proposals[i]); });
  const auto profiler = compile::makeDeviceProfiler(device, 5, stages, log);
  std::map<std::string, std::vector<Measured>> result;
  for (const bool plainest : {true, false}) {
    for (const auto& proposal : proposals) {
      const auto& option = proposal.option;
      const bool isPlainest = isPlain(option.candidate.tactic);
      if (isPlainest != plainest) continue;
      EXPECT_EQ(proposal.failure, "") << option.candidate.text();
      if (isPlainest) {
        profiler->trust(problem, option.candidate, option.record, option.nativeCode);
        continue;
      }
      result[option.candidate.tactic].push_back(
          {option.candidate.variant, profiler->measure(problem, option.candidate, option.record, option.nativeCode,
                                                       std::numeric_limits<double>::infinity())});
    }
  }
  for (auto& [tactic, list] : result) {
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.measurement.seconds < b.measurement.seconds; });
  }
  return result;
}

TEST_F(OnGpu, TuningMeasuresProductsByWarpgroups) {
  const auto found = measure(productOf({21, 72, 136}), {"cuda.mma90_matmul"}, 0);
  ASSERT_EQ(found.size(), 1u);
  for (const auto& [tactic, list] : found) {
    EXPECT_GE(list.size(), 2u);
    for (const auto& one : list) EXPECT_EQ(one.measurement.failure, "") << one.candidate;
  }
}

void print(const std::string& what, const std::map<std::string, std::vector<Measured>>& found) {
  constexpr size_t kShown = 4;
  for (const auto& [tactic, list] : found) {
    std::printf("%-24s %-22s", what.c_str(), tactic.c_str());
    for (size_t i = 0; i < std::min(list.size(), kShown); ++i)
      std::printf("  %6.2f us %s", list[i].measurement.seconds * 1e6, list[i].candidate.c_str());
    std::printf("\n");
    for (const auto& one : list) {
      EXPECT_TRUE(one.measurement.refused || one.measurement.failure.empty())
          << tactic << "/" << one.candidate << ": " << one.measurement.failure;
    }
  }
}

void print(const Extents& e, const std::map<std::string, std::vector<Measured>>& found) {
  print(fmt::format("{}x{}x{}", e.rows, e.columns, e.inner), found);
}

constexpr size_t kMore = 48;

// No check: the fastest tiles of the products that networks of one image or sentence spend their time on.
TEST_F(OnGpu, SpeedOfProductsByWarpgroups) {
  if (emulated()) GTEST_SKIP() << "the GPU is emulated, its times say nothing";
  for (const int64_t rows : {128, 197, 256}) {
    for (const auto& [columns, inner] : {std::pair(2304, 768), {768, 768}, {3072, 768}, {768, 3072}}) {
      const Extents e{rows, columns, inner};
      print(e, measure(productOf(e), {"cuda.mma90_matmul", "cuda.cublaslt_matmul"}, kMore));
    }
  }
}

struct Image {
  int64_t batch, channels, extent, columns, taps, dilation;

  std::string text() const {
    return fmt::format("{}x{}x{}x{} to {} {}x{} dilation {}", batch, channels, extent, extent, columns, taps, taps,
                       dilation);
  }
};

std::string convolutionOf(const Image& e) {
  return fmt::format(R"g(graph "windows" {{
  input %x : f16[{0},{1},{2},{2}]
  const %w : f16[{3},{1},{4},{4}] = random(5)
  const %b : f16[{3},1,1] = random(6)
  %y : f16[{0},{3},{2},{2}] = convolution{{epilogue="add(x0,x1);relu(t0)" prePadding=[{5},{5}] postPadding=[{5},{5}] dilations=[{6},{6}]}}(%x, %w, %b) "n"
  output %y
}})g",
                     e.batch, e.channels, e.extent, e.columns, e.taps, e.taps / 2 * e.dilation, e.dilation);
}

// Nor here: products and convolutions of many rows, as networks of large batches have them.
TEST_F(OnGpu, SpeedOfProductsOfManyTiles) {
  if (emulated()) GTEST_SKIP() << "the GPU is emulated, its times say nothing";
  for (const auto& e : {Extents{4096, 768, 768}, {4096, 768, 3072}, {6304, 768, 768}, {6304, 768, 3072}})
    print(e, measure(productOf(e), {"cuda.mma90_matmul", "cuda.cublaslt_matmul"}, 0));
  for (const auto& e : {Extents{4096, 2304, 768}, {4096, 3072, 768}, {6304, 2304, 768}, {6304, 3072, 768}})
    print(e, measure(biasedProductOf(e, "f16"), {"cuda.mma90_matmul", "cuda.cublaslt_matmul"}, 0));
  const Extents vocabulary{256, 50257, 768};
  print(vocabulary, measure(biasedProductOf(vocabulary, "f32"), {"cuda.mma90_matmul", "cuda.cublaslt_matmul"}, 0));
  for (const auto& e : {Image{128, 64, 56, 64, 3, 1},
                        {128, 128, 28, 128, 3, 1},
                        {128, 256, 14, 256, 3, 1},
                        {128, 512, 7, 512, 3, 1},
                        {32, 128, 28, 128, 3, 1},
                        {32, 256, 14, 256, 3, 1},
                        {128, 64, 56, 256, 1, 1},
                        {128, 256, 56, 64, 1, 1},
                        {128, 1024, 14, 256, 1, 1},
                        {8, 512, 65, 512, 3, 2},
                        {8, 2048, 65, 256, 3, 12}}) {
    print(e.text(), measure(convolutionOf(e),
                            {"cuda.mma90_convolution", "cuda.cudnn_convolution", "cuda.cublaslt_convolution"}, 0));
  }
}

// Nor here: dilated convolutions, with all taps and without those that lie outside of the image.
TEST_F(OnGpu, SpeedOfDilatedConvolutions) {
  if (emulated()) GTEST_SKIP() << "the GPU is emulated, its times say nothing";
  for (const int64_t dilation : {12, 24, 36}) {
    for (const char* omits : {"0", "1"}) {
      const Variable omitted("TENON_CUDA_OMITTED_TAPS", omits);
      const Image image{8, 2048, 65, 256, 3, dilation};
      print(fmt::format("{}, left out: {}", image.text(), omits),
            measure(convolutionOf(image), {"cuda.mma90_convolution"}, 0));
    }
  }
}

// Nor here: normalizations alone, and with the products behind them.
TEST_F(OnGpu, SpeedOfProductsOfNormalizedRows) {
  if (emulated()) GTEST_SKIP() << "the GPU is emulated, its times say nothing";
  for (const auto& e : {Extents{128, 2304, 768}, {197, 3072, 768}, {384, 4096, 1024}, {4096, 2304, 768}}) {
    print(e, measure(normalizationOf(e), {"cuda.normalization"}, kMore));
    print(e, measure(productOf(e), {"cuda.mma90_matmul", "cuda.cublaslt_matmul"}, kMore));
    for (const bool keeps : {false, true})
      print(e, measure(normalizedProductOf(e, keeps), {"cuda.mma90_composite"}, kMore));
  }
  for (const auto& e : {Extents{128, 768, 768}, {197, 768, 3072}, {384, 1024, 4096}}) {
    print(e, measure(productOf(e), {"cuda.mma90_matmul", "cuda.cublaslt_matmul"}, kMore));
    print(e, measure(measuredProductOf(e), {"cuda.mma90_composite"}, kMore));
  }
}

}  // namespace
}  // namespace tenon::test
