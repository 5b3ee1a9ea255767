// Tiles whose last columns are half a vector: two rows share it, and every sum is the one that a tile of its own gives.
#include <gtest/gtest.h>

#include <random>

#include "backends/cpu/kernels/common/gemm_tile.h"

namespace tenon::backends::cpu {
namespace {

struct Operands {
  std::vector<float> x, panel, bias, addend, slope;
  std::vector<const float*> sources;
};

Operands randomOperands(int rows, int64_t taps, int64_t depth) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> values(-1.f, 1.f);
  const auto fill = [&](std::vector<float>& to, int64_t count) {
    to.resize(static_cast<size_t>(count));
    for (auto& value : to) value = values(generator);
  };
  const int64_t columns = tileGeometry().columns;
  Operands o;
  fill(o.x, rows * taps * depth);
  fill(o.panel, taps * depth * columns);
  fill(o.bias, columns);
  fill(o.addend, rows * columns);
  fill(o.slope, columns);
  for (int64_t i = 0; i < rows * taps; ++i) o.sources.push_back(o.x.data() + i * depth);
  return o;
}

std::vector<float> results(const Operands& o, int rows, int64_t taps, int64_t depth, int64_t width, bool halves) {
  const int64_t columns = tileGeometry().columns;
  auto panel = o.panel;
  panel.resize(panel.size() + static_cast<size_t>(columns));
  if (halves) repeatHalf(panel.data(), taps * depth);
  std::vector<float> out(static_cast<size_t>((rows + 1) * columns), 77.f);
  TileCall call;
  call.sources = o.sources.data();
  call.taps = taps;
  call.depth = depth;
  call.panel = panel.data();
  call.bias = o.bias.data();
  call.addend = o.addend.data();
  call.addendStride = columns;
  call.slope = o.slope.data();
  call.high = 1.5f;
  call.out = out.data();
  call.outStride = columns;
  call.width = width;
  call.hasHalves = halves;
  tileFunctions()[static_cast<size_t>(rows)](call);
  return out;
}

TEST(Tiles, HalvesOfVectorsGiveTheSameSums) {
  const int64_t lanes = tileGeometry().columns / 2;
  if (halfColumns() == 0) {
    EXPECT_FALSE(hasHalves(lanes + 1));
    return;
  }
  for (int rows = 1; rows <= tileGeometry().rows; ++rows) {
    for (const int64_t depth : {0, 1, 3, 24}) {
      for (int64_t width = lanes + 1; width <= lanes + halfColumns(); ++width) {
        ASSERT_TRUE(hasHalves(width));
        const auto o = randomOperands(rows, 3, depth);
        ASSERT_EQ(results(o, rows, 3, depth, width, true), results(o, rows, 3, depth, width, false))
            << rows << " rows, depth " << depth << ", width " << width;
      }
    }
  }
  EXPECT_FALSE(hasHalves(lanes));
  EXPECT_FALSE(hasHalves(lanes + halfColumns() + 1));
}

// Where whole panels are wanted, what is behind the half may be anything and nothing else differs.
TEST(Tiles, HalvesOfVectorsFillWholePanels) {
  const int64_t columns = tileGeometry().columns, width = columns / 2 + halfColumns();
  if (halfColumns() == 0) return;
  for (int rows = 1; rows <= tileGeometry().rows; ++rows) {
    const auto o = randomOperands(rows, 1, 5);
    const auto whole = results(o, rows, 1, 5, columns, true), expected = results(o, rows, 1, 5, width, false);
    for (int64_t i = 0; i < (rows + 1) * columns; ++i) {
      if (i / columns < rows && i % columns >= width) continue;
      ASSERT_EQ(whole[static_cast<size_t>(i)], expected[static_cast<size_t>(i)]) << rows << " rows, at " << i;
    }
  }
}

}  // namespace
}  // namespace tenon::backends::cpu
