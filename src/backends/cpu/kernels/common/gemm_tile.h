// The microkernel of the own convolutions and matmuls: a few rows times a packed panel of columns, with bias, one
// residual operand, PReLU and clamp before the store.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace tenon::backends::cpu {

// Rows and columns of the largest tile on this processor.
struct TileGeometry {
  int rows;
  int columns;  // of two vectors
};
TileGeometry tileGeometry();
constexpr int kMaxTileRows = 8;
constexpr int kMaxTileColumns = 32;

// Memory that later tiles will read, for which a tile asks while it computes: with each step of its depth one line of
// the cache at `at`, which then goes on by `step`, and one at `second` floats behind it.
struct Ahead {
  const float* at = nullptr;  // null: nothing
  int64_t step = 0;
  int64_t second = 0;
};

// out[r][j] = clamp(bias[j] + sum over taps t and depth c of sources[t * rows + r][offset + c] * panel[t * depth +
// c][j]
//                   + addend[r][j])
// With `slope`, sums below zero are multiplied by slope[j] before the clamp.
struct TileCall {
  const float* const* sources = nullptr;
  int64_t offset = 0;
  int64_t taps = 1;
  int64_t depth = 0;
  const float* panel = nullptr;   // rows of `columns` floats
  const float* bias = nullptr;    // `columns` floats, or null
  const float* addend = nullptr;  // or null
  int64_t addendStride = 0;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  const float* slope = nullptr;  // or null
  float* out = nullptr;
  int64_t outStride = 0;
  int64_t width = 0;  // columns that exist; no other is read or written in addend, slope and out
  // The panel went through repeatHalf(), so the same sums take less time. Where `width` is the whole panel, what comes
  // out behind the half is another row's.
  bool hasHalves = false;
  Ahead ahead;          // not of depthwise tiles
  int64_t rowStep = 0;  // depthwise only
};

using TileFunction = void (*)(const TileCall& call);

// By the number of rows, 1 to tileGeometry().rows. The sum of a result is taken in an order that depends on it only.
using TileFunctions = std::array<TileFunction, kMaxTileRows + 1>;
const TileFunctions& tileFunctions();

// Rows that lie evenly: tap t of row r is at from + t * tapStep + r * rowStep.
struct EvenRows {
  const float* from = nullptr;
  int64_t rowStep = 0;
  int64_t tapStep = 0;
  int64_t count = 0;
};

constexpr int64_t kMaxEvenTaps = 32;

// Tiles one below another, with the results of tileFunctions(): the call is that of the first one, whose sources and
// offset do not count. Nothing is asked for ahead.
using StripFunction = void (*)(const TileCall& call, const EvenRows& rows);
StripFunction stripFunction();

// The depthwise sum: out[r][j] = ... sources[t][offset + r * rowStep + j] * panel[t][j] ..., where depth does not
// count.
const TileFunctions& depthwiseFunctions();
// The same where pixels do not lie in a row: out[r][j] = ... sources[t * rows + r][offset + j] * panel[t][j] ...
const TileFunctions& depthwiseApartFunctions();

// What tile `tile` of `tiles` that meet a panel of `floats` asks for, so that the panel behind it, if it `hasNext`, is
// in the second cache when all tiles have met this one: weights that no cache holds come from memory while tiles
// multiply, not in between. A tile that meets a panel alone asks for nothing. Of panels that fill the second cache the
// first tile asks for what comes soon.
Ahead aheadOf(const float* panel, int64_t floats, bool hasNext, int64_t tile, int64_t tiles);

// Asks for a matrix that a tile will touch next: `rows` rows, `step` floats apart, of which `width` floats count.
inline void fetchRows(const float* at, int64_t rows, int64_t step, int64_t width) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t r = 0; r < rows; ++r, at += step) {
    for (int64_t j = 0; j < width; j += kLineFloats) __builtin_prefetch(at + j);
    __builtin_prefetch(at + width - 1);
  }
}

// Columns of a matrix given by element (k, j) = data[k * depthStride + j * columnStride] as panels, the last one filled
// up with zeros. They are `panelStride` floats apart.
struct PanelSource {
  const float* data;
  int64_t depth, columns, depthStride, columnStride;
};
void packPanelsInto(const PanelSource& source, float* to, int64_t panelStride);
int64_t panelCount(int64_t columns);

// Whether `width` columns of a panel are more than one vector and at most one and a half. Then the half behind the
// first vector may stand there twice, so that one vector of it serves two rows: each row of a panel is
// [vector][half][the same half].
int64_t halfColumns();  // 0 where that gains nothing
bool hasHalves(int64_t width);
void repeatHalf(float* panel, int64_t depth);
uint64_t panelBytes(int64_t depth, int64_t columns);  // of panels behind each other

// Back: writes element (k, j) to data[k * depthStride + j * columnStride].
void unpackPanels(const float* panels, float* data, int64_t depth, int64_t columns, int64_t depthStride,
                  int64_t columnStride);

}  // namespace tenon::backends::cpu
