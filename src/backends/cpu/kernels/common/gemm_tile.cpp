// Tiles in Highway: the accumulators stay in registers over the whole sum.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/common/gemm_tile.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/common/gemm_tile.h"
#include "core/platform/core_facts.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/tile_sums.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

// `Chains` partial sums per result, where few rows would leave the multipliers waiting for each other.
// With `Fetches` it asks for call.ahead.
template <int Rows, int Chains, Columns Width, bool Fetches>
void tile(const TileCall& call) {
  constexpr bool kWide = Width != Columns::kOne;
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V left[Chains][Rows];
  V right[Chains][Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    left[0][r] = call.bias != nullptr ? hn::LoadU(d, call.bias) : hn::Zero(d);
    right[0][r] = startOfRight<Width>(call.bias);
#pragma GCC unroll 4
    for (int u = 1; u < Chains; ++u) left[u][r] = right[u][r] = hn::Zero(d);
  }
  const float* panel = call.panel;
  const float* const* sources = call.sources;
  const float* ahead = call.ahead.at;
  const auto fetch = [&] {
    if constexpr (!Fetches) return;
    constexpr int kSecondCache = 2;
    __builtin_prefetch(ahead, 0, kSecondCache);
    __builtin_prefetch(ahead + call.ahead.second, 0, kSecondCache);
    ahead += call.ahead.step;
  };
  for (int64_t t = 0; t < call.taps; ++t) {
    const float* in[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) in[r] = sources[r] + call.offset;
    sources += Rows;
    int64_t c = 0;
    for (; c + Chains <= call.depth; c += Chains) {
#pragma GCC unroll 4
      for (int u = 0; u < Chains; ++u) {
        const V b0 = hn::LoadU(d, panel);
        const V b1 = kWide ? hn::LoadU(d, panel + lanes) : b0;
        panel += 2 * lanes;
        fetch();
        step<Rows, Width>(in, c + u, b0, b1, left[u], right[u]);
      }
    }
    for (; c < call.depth; ++c) {
      const V b0 = hn::LoadU(d, panel);
      const V b1 = kWide ? hn::LoadU(d, panel + lanes) : b0;
      panel += 2 * lanes;
      fetch();
      step<Rows, Width>(in, c, b0, b1, left[0], right[0]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int u = 1; u < Chains; ++u) {
      left[0][r] = hn::Add(left[0][r], left[u][r]);
      if constexpr (kWide) right[0][r] = hn::Add(right[0][r], right[u][r]);
    }
  }
  if constexpr (Width == Columns::kHalves) separate<Rows>(right[0]);
  store<Rows, kWide>(call, left[0], right[0]);
}

#if HWY_TARGET <= HWY_AVX3
template <int Rows, int Chains>
void tileOfHalves(const TileCall& call) {
  V left[Rows];
  V right[Rows];
  const float* const* sources = call.sources;
  const auto point = [&](int64_t, const float** in) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) in[r] = sources[r] + call.offset;
    sources += Rows;
  };
  if (call.ahead.at == nullptr) {
    sumHalves<Rows, Chains>(
        call, point, [] {}, left, right);
  } else {
    const float* ahead = call.ahead.at;
    const auto fetch = [&] {
      constexpr int kSecondCache = 2;
      __builtin_prefetch(ahead, 0, kSecondCache);
      __builtin_prefetch(ahead + call.ahead.second, 0, kSecondCache);
      ahead += call.ahead.step;
    };
    sumHalves<Rows, Chains>(call, point, fetch, left, right);
  }
  store<Rows, true>(call, left, right);
}
#endif

// With `Apart`, halves of vectors do not share vectors.
template <int Rows, int Chains, bool Apart>
void tileAny(const TileCall& call) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (Apart) {
    if (call.hasHalves && call.width > static_cast<int64_t>(hn::Lanes(D()))) return tileOfHalves<Rows, Chains>(call);
  }
#endif
  if (call.width <= static_cast<int64_t>(hn::Lanes(D()))) return tile<Rows, Chains, Columns::kOne, false>(call);
  if constexpr (kPairs) {
    if (call.hasHalves && call.ahead.at != nullptr) return tile<Rows, Chains, Columns::kHalves, true>(call);
    if (call.hasHalves) return tile<Rows, Chains, Columns::kHalves, false>(call);
  }
  if (call.ahead.at != nullptr) return tile<Rows, Chains, Columns::kTwo, true>(call);
  tile<Rows, Chains, Columns::kTwo, false>(call);
}

template <bool Apart>
TileFunctions tilesOf() {
  return {nullptr,
          tileAny<1, 4, Apart>,
          tileAny<2, 2, Apart>,
          tileAny<3, 2, Apart>,
          tileAny<4, 1, Apart>,
          tileAny<5, 1, Apart>,
          tileAny<6, 1, Apart>,
          tileAny<7, 1, Apart>,
          tileAny<8, 1, Apart>};
}

TileFunctions tiles() {
  if constexpr (HWY_TARGET <= HWY_AVX3) {
    if (platform::halvesVectors()) return tilesOf<true>();
  }
  return tilesOf<false>();
}

TileGeometry geometry() { return {kRows, static_cast<int>(2 * hn::Lanes(D()))}; }

bool pairs() { return kPairs; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "backends/cpu/kernels/simd/transpose_simd.h"

namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(tiles);
TENON_SIMD_TABLE(geometry);
TENON_SIMD_TABLE(pairs);

}  // namespace

TileGeometry tileGeometry() {
  static const TileGeometry kGeometry = TENON_SIMD_BEST(geometry)();
  return kGeometry;
}

const TileFunctions& tileFunctions() {
  static const TileFunctions kFunctions = TENON_SIMD_BEST(tiles)();
  return kFunctions;
}

Ahead aheadOf(const float* panel, int64_t floats, bool hasNext, int64_t tile, int64_t tiles) {
  constexpr int64_t kLine = 16;
  constexpr int64_t kLargePanel = 64 * 1024;
  constexpr int64_t kSoon = 2048;
  const int64_t columns = tileGeometry().columns;
  const int64_t lines = std::max<int64_t>(1, columns / kLine);  // of a step
  if (tiles == 1) return {};  // it reads at the speed of memory, which the processor asks for itself
  if (floats > kLargePanel) return tile == 0 ? Ahead{panel + kSoon, columns, (lines - 1) * kLine} : Ahead{};
  if (!hasNext) return {};
  const float* const next = panel + floats;
  return tile < lines ? Ahead{next + tile * kLine, columns, 0} : Ahead{};
}

int64_t halfColumns() {
  static const int64_t kHalf = TENON_SIMD_BEST(pairs)() ? tileGeometry().columns / 4 : 0;
  return kHalf;
}

bool hasHalves(int64_t width) {
  const int64_t lanes = tileGeometry().columns / 2;
  return width > lanes && width <= lanes + halfColumns();
}

void repeatHalf(float* panel, int64_t depth) {
  const int64_t columns = tileGeometry().columns;
  for (float* row = panel + columns / 2; depth > 0; --depth, row += columns)
    std::copy_n(row, columns / 4, row + columns / 4);
}

int64_t panelCount(int64_t columns) {
  const int64_t width = tileGeometry().columns;
  return (columns + width - 1) / width;
}

void packPanelsInto(const PanelSource& source, float* to, int64_t panelStride) {
  constexpr int64_t kBlock = 64;  // of depth, so that neither side leaves the first cache
  const int64_t width = tileGeometry().columns;
  const int64_t panels = panelCount(source.columns);
  const auto transpose = transposeFunctions(sizeof(float)).transpose;
  for (int64_t p = 0; p < panels; ++p, to += panelStride) {
    const int64_t count = std::min(width, source.columns - p * width);
    const float* const from = source.data + p * width * source.columnStride;
    if (source.columnStride == 1) {
      for (int64_t k = 0; k < source.depth; ++k) {
        const float* const row = from + k * source.depthStride;
        std::fill(std::copy(row, row + count, to + k * width), to + (k + 1) * width, 0.f);
      }
      continue;
    }
    for (int64_t first = 0; first < source.depth; first += kBlock) {
      const int64_t last = std::min(first + kBlock, source.depth);
      if (source.depthStride == 1) {
        transpose(from + first, static_cast<size_t>(source.columnStride), to + first * width,
                  static_cast<size_t>(width), static_cast<size_t>(count), static_cast<size_t>(last - first));
        for (int64_t k = first; count < width && k < last; ++k)
          std::fill(to + k * width + count, to + (k + 1) * width, 0.f);
        continue;
      }
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t k = first; k < last; ++k)
          to[k * width + j] = from[k * source.depthStride + j * source.columnStride];
      }
      for (int64_t k = first; k < last; ++k) std::fill(to + k * width + count, to + (k + 1) * width, 0.f);
    }
  }
}

uint64_t panelBytes(int64_t depth, int64_t columns) {
  return static_cast<uint64_t>(panelCount(columns) * depth * tileGeometry().columns) * sizeof(float);
}

void unpackPanels(const float* panels, float* data, int64_t depth, int64_t columns, int64_t depthStride,
                  int64_t columnStride) {
  const int64_t width = tileGeometry().columns;
  for (int64_t j = 0; j < columns; ++j) {
    const float* const from = panels + j / width * depth * width + j % width;
    for (int64_t k = 0; k < depth; ++k) data[k * depthStride + j * columnStride] = from[k * width];
  }
}

}  // namespace tenon::backends::cpu
#endif
