// Convolutions on tensor cores of warpgroups that leave out taps: which, and that their code compiles.
#include <algorithm>
#include <set>

#include "backends/cuda/driver/code_cache.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/mma90/mma90.h"
#include "backends/cuda/kernels/mma90/mma90_kernel.h"
#include "compile/assignment.h"
#include "cuda/on_gpu.h"
#include "cuda/variable.h"

namespace tenon::test {
namespace {

using backends::cuda::Mma90Shape;

// Which tiles leave out which taps, beside each window by itself, and how evenly blocks share what is left.
TEST(Mma90, LeavesOutTapsOutsideOfTheImage) {
  using backends::cuda::Mma90Image;
  struct Case {
    Mma90Image image;
    const char* shape;
    int64_t blocks;
  };
  const auto dilated = [](int64_t by) {
    return Mma90Image{8, 65, 65, {65, 65}, {3, 3}, {1, 1}, {by, by}, {by, by}, {by, by}};
  };
  for (const auto& [image, shape, blocks] :
       {Case{dilated(12), "192x2x1,1,4to", 132}, Case{dilated(24), "192x1x1,1,4co", 132},
        Case{dilated(36), "96x1x1,2,4to", 66}, Case{dilated(2), "64x1x1,1,4to", 7},
        Case{{3, 9, 7, {12, 7}, {3, 3}, {2, 1}, {12, 5}, {12, 5}, {5, 5}}, "16x1x1,1,4to", 3}}) {
    const auto parsed = Mma90Shape::parse(shape);
    EXPECT_EQ(parsed.text(), shape);
    const backends::cuda::Mma90Weights weights{256, 128, 9};
    const int64_t rows = image.images * image.windows[0] * image.windows[1];
    const auto order = parsed.order(rows, weights.tiles());
    const auto turns = backends::cuda::mma90Turns(image, weights, parsed, blocks);
    ASSERT_EQ(turns.size() % static_cast<size_t>(blocks), 0u);
    std::set<int32_t> tiles;
    std::vector<int64_t> loads(static_cast<size_t>(blocks));
    int64_t most = 0, all = 0;
    for (size_t i = 0; i < turns.size(); ++i) {
      const auto& turn = turns[i];
      if (turn.tile < 0) {
        for (size_t next = i; next < turns.size(); next += static_cast<size_t>(blocks)) EXPECT_LT(turns[next].tile, 0);
        continue;
      }
      EXPECT_TRUE(tiles.insert(turn.tile).second) << turn.tile;
      EXPECT_LT(turn.first, turn.end);
      loads[i % static_cast<size_t>(blocks)] += turn.end - turn.first;
      most = std::max<int64_t>(most, turn.end - turn.first);
      all += turn.end - turn.first;
      // As the kernel finds its rows.
      const int band = turn.tile / (order.band * order.across), within = turn.tile % (order.band * order.across);
      const int height = std::min(order.band, order.down - band * order.band);
      const int64_t firstRow = int64_t{band * order.band + within % height} * parsed.rows;
      for (int64_t row = firstRow; row < std::min(rows, firstRow + parsed.rows); ++row) {
        const int64_t y = row / image.windows[1] % image.windows[0] * image.stride[0] - image.before[0];
        for (int64_t tap = 0; tap < image.taps[0]; ++tap) {
          if (y + tap * image.dilation[0] < 0 || y + tap * image.dilation[0] >= image.height) continue;
          EXPECT_LE(turn.first, tap * 3 * weights.chunks()) << shape << ", row " << row;
          EXPECT_GE(turn.end, (tap + 1) * 3 * weights.chunks()) << shape << ", row " << row;
        }
      }
    }
    EXPECT_EQ(tiles.size(), static_cast<size_t>(order.tiles)) << shape;
    EXPECT_LE(*std::max_element(loads.begin(), loads.end()), all / blocks + most) << shape;
    const bool savesMuch = image.dilation[0] != 2 && image.dilation[0] != 12;  // of 3 rows of taps
    EXPECT_EQ(backends::cuda::mma90MayOmit(image, weights, parsed), savesMuch) << shape;
  }
  EXPECT_FALSE(backends::cuda::mma90MayOmit(dilated(36), {256, 128, 9}, Mma90Shape::parse("64x1x1,1,4")));
}

// Those of many tiles that are proposed do so, and their code compiles.
TEST(Mma90, ProposesToLeaveOutTaps) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  const Variable warpgroups("TENON_CUDA_WARPGROUPS", "1");
  const auto candidatesOf = [](int64_t dilation, const auto& visit) {
    const auto graph = graph::parse(fmt::format(R"g(graph "windows" {{
  input %x : f16[8,64,65,65]
  const %w : f16[256,64,3,3] = random(5)
  %y : f16[8,256,65,65] = convolution{{prePadding=[{0},{0}] postPadding=[{0},{0}] dilations=[{0},{0}]}}(%x, %w) "n"
  output %y
}})g",
                                                dilation));
    const auto problem = compile::makeProblem(graph, graph.node(graph.order()[0]), {});
    const auto tactics = compile::tacticsOf("cuda");
    const auto found = std::find_if(tactics.begin(), tactics.end(),
                                    [](const auto* tactic) { return tactic->name() == "cuda.mma90_convolution"; });
    ASSERT_NE(found, tactics.end());
    ASSERT_TRUE((*found)->supports(problem));
    for (const auto& candidate : (*found)->candidates(problem))
      visit(Mma90Shape::parse(candidate.variant), (*found)->build(problem, candidate));
  };
  size_t many = 0;
  candidatesOf(24, [&](const Mma90Shape& shape, const plan::KernelRecord& record) {
    EXPECT_EQ(shape.omits, shape.isPersistent()) << shape.text();
    if (!shape.omits || ++many > 2) return;
    for (const auto& row : backends::cuda::kernelTable()) {
      if (row.name != record.name) continue;
      EXPECT_FALSE(backends::cuda::compile(row.code(record).source(), 90).empty());
    }
  });
  EXPECT_GT(many, 0u);
  candidatesOf(1, [&](const Mma90Shape& shape, const plan::KernelRecord&) { EXPECT_FALSE(shape.omits); });
  const Variable off("TENON_CUDA_OMITTED_TAPS", "0");
  candidatesOf(24, [&](const Mma90Shape& shape, const plan::KernelRecord&) { EXPECT_FALSE(shape.omits); });
}

}  // namespace
}  // namespace tenon::test
