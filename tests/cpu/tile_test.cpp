// Tiles whose last columns are half a vector, and strips of tiles: every sum is the one that a tile of its own gives.
#include <gtest/gtest.h>

#include <algorithm>
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

// Every bit is that of tiles by a table.
TEST(Tiles, StripsGiveTheSameSums) {
  const int64_t columns = tileGeometry().columns;
  const int most = tileGeometry().rows;
  for (const int rows : {0, 1, most - 1, most, most + 1, 3 * most + 2}) {
    for (const int64_t depth : {0, 1, 17}) {
      for (const int64_t width : {int64_t{1}, columns / 2, columns / 2 + 1, columns - 1, columns}) {
        for (const int kind : {0, 1, 2, 3}) {  // with bias, addend, slope and bounds or without, halves if they can be
          const int64_t taps = 3;
          const auto o = randomOperands(std::max(rows, 1), taps, depth);
          auto panel = o.panel;
          panel.resize(panel.size() + static_cast<size_t>(columns));
          const bool halves = kind >= 2 && hasHalves(width);
          if (halves) repeatHalf(panel.data(), taps * depth);
          TileCall call;
          call.taps = taps;
          call.depth = depth;
          call.panel = panel.data();
          call.outStride = columns;
          call.width = width;
          call.hasHalves = halves;
          if (kind % 2 == 1) {
            call.bias = o.bias.data();
            call.addend = o.addend.data();
            call.addendStride = columns;
            call.slope = o.slope.data();
            call.high = 1.5f;
          }
          std::vector<float> strip(static_cast<size_t>((rows + 1) * columns), 77.f);
          auto expected = strip;
          call.out = strip.data();
          // Row r of tap t is row r + t of x.
          stripFunction()(call, {o.x.data(), depth, depth, rows});
          for (int first = 0; first < rows; first += most) {
            const int count = std::min(most, rows - first);
            std::vector<const float*> sources;
            for (int64_t t = 0; t < taps; ++t) {
              for (int r = 0; r < count; ++r) sources.push_back(o.x.data() + (first + r + t) * depth);
            }
            call.sources = sources.data();
            call.out = expected.data() + first * columns;
            call.addend = kind % 2 == 1 ? o.addend.data() + first * columns : nullptr;
            tileFunctions()[static_cast<size_t>(count)](call);
          }
          ASSERT_EQ(strip, expected) << rows << " rows, depth " << depth << ", width " << width << ", kind " << kind;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::backends::cpu
