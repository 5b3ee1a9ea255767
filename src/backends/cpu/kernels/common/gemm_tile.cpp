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

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kMaxTileColumns / 2>;
using V = hn::Vec<D>;

constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 8 : 6;  // as many as there are registers for

// Loads and stores of the first `count` lanes that touch no other memory. Below AVX2 Highway's masks do touch it.
constexpr bool kMasked = HWY_TARGET <= HWY_AVX2;

HWY_INLINE V loadSome(const float* from, size_t count) {
  const D d;
  if constexpr (kMasked) return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  alignas(64) float buffer[kMaxTileColumns] = {};
  for (size_t i = 0; i < count; ++i) buffer[i] = from[i];
  return hn::Load(d, buffer);
}

// AVX2's masked store takes dozens of micro-operations on processors of AMD; a few copies of fixed size do not.
HWY_INLINE void storeSome(V value, size_t count, float* to) {
  const D d;
  if constexpr (HWY_TARGET < HWY_AVX2 && kMasked) {
    hn::BlendedStore(value, hn::FirstN(d, count), d, to);
  } else {
    alignas(64) float buffer[kMaxTileColumns];
    hn::Store(value, d, buffer);
    const float* from = buffer;
    const auto copy = [&](auto size) {
      if ((count & size()) == 0) return;
      std::memcpy(to, from, size() * sizeof(float));
      to += size();
      from += size();
    };
    copy(std::integral_constant<size_t, 8>{});
    copy(std::integral_constant<size_t, 4>{});
    copy(std::integral_constant<size_t, 2>{});
    copy(std::integral_constant<size_t, 1>{});
  }
}

// What becomes of a sum on its way out. The maximum takes its second operand where one is NaN, so NaN stays.
template <bool Leaky>
HWY_INLINE V finish(V value, V low, V high, V slope) {
  if constexpr (Leaky) value = hn::IfThenElse(hn::Ge(value, hn::Zero(D())), value, hn::Mul(value, slope));
  return hn::Min(high, hn::Max(low, value));
}

// Adds the addend, bends, clamps and stores.
template <int Rows, bool Wide, bool Leaky>
HWY_INLINE void storeAs(const TileCall& call, V* left, V* right) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V low = hn::Set(d, call.low);
  const V high = hn::Set(d, call.high);
  V slopeLeft = low;
  V slopeRight = low;
  if (call.width == (Wide ? 2 : 1) * lanes) {
    if constexpr (Leaky) {
      slopeLeft = hn::LoadU(d, call.slope);
      if constexpr (Wide) slopeRight = hn::LoadU(d, call.slope + lanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      float* const out = call.out + r * call.outStride;
      if (call.addend != nullptr) {
        const float* const addend = call.addend + r * call.addendStride;
        left[r] = hn::Add(left[r], hn::LoadU(d, addend));
        if constexpr (Wide) right[r] = hn::Add(right[r], hn::LoadU(d, addend + lanes));
      }
      hn::StoreU(finish<Leaky>(left[r], low, high, slopeLeft), d, out);
      if constexpr (Wide) hn::StoreU(finish<Leaky>(right[r], low, high, slopeRight), d, out + lanes);
    }
    return;
  }
  const auto some = static_cast<size_t>(call.width - (Wide ? lanes : 0));
  if constexpr (Leaky) {
    if constexpr (Wide) slopeLeft = hn::LoadU(d, call.slope);
    slopeRight = loadSome(call.slope + (Wide ? lanes : 0), some);
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    float* out = call.out + r * call.outStride;
    const float* addend = call.addend == nullptr ? nullptr : call.addend + r * call.addendStride;
    if constexpr (Wide) {
      if (addend != nullptr) left[r] = hn::Add(left[r], hn::LoadU(d, addend));
      hn::StoreU(finish<Leaky>(left[r], low, high, slopeLeft), d, out);
      out += lanes;
      if (addend != nullptr) addend += lanes;
    }
    V last = Wide ? right[r] : left[r];
    if (addend != nullptr) last = hn::Add(last, loadSome(addend, some));
    storeSome(finish<Leaky>(last, low, high, slopeRight), some, out);
  }
}

template <int Rows, bool Wide>
HWY_INLINE void store(const TileCall& call, V* left, V* right) {
  if (call.slope != nullptr) return storeAs<Rows, Wide, true>(call, left, right);
  storeAs<Rows, Wide, false>(call, left, right);
}

// `Chains` partial sums per result, where few rows would leave the multipliers waiting for each other.
template <int Rows, int Chains, bool Wide>
void tile(const TileCall& call) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V left[Chains][Rows];
  V right[Chains][Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    left[0][r] = call.bias != nullptr ? hn::LoadU(d, call.bias) : hn::Zero(d);
    right[0][r] = Wide && call.bias != nullptr ? hn::LoadU(d, call.bias + lanes) : hn::Zero(d);
#pragma GCC unroll 4
    for (int u = 1; u < Chains; ++u) left[u][r] = right[u][r] = hn::Zero(d);
  }
  const float* panel = call.panel;
  const float* const* sources = call.sources;
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
        const V b1 = Wide ? hn::LoadU(d, panel + lanes) : b0;
        panel += 2 * lanes;
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
          const V a = hn::Set(d, in[r][c + u]);
          left[u][r] = hn::MulAdd(a, b0, left[u][r]);
          if constexpr (Wide) right[u][r] = hn::MulAdd(a, b1, right[u][r]);
        }
      }
    }
    for (; c < call.depth; ++c) {
      const V b0 = hn::LoadU(d, panel);
      const V b1 = Wide ? hn::LoadU(d, panel + lanes) : b0;
      panel += 2 * lanes;
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const V a = hn::Set(d, in[r][c]);
        left[0][r] = hn::MulAdd(a, b0, left[0][r]);
        if constexpr (Wide) right[0][r] = hn::MulAdd(a, b1, right[0][r]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int u = 1; u < Chains; ++u) {
      left[0][r] = hn::Add(left[0][r], left[u][r]);
      if constexpr (Wide) right[0][r] = hn::Add(right[0][r], right[u][r]);
    }
  }
  store<Rows, Wide>(call, left[0], right[0]);
}

template <int Rows, int Chains>
void tileAny(const TileCall& call) {
  if (call.width > static_cast<int64_t>(hn::Lanes(D()))) return tile<Rows, Chains, true>(call);
  tile<Rows, Chains, false>(call);
}

// Columns that do not exist are not read.
template <int Rows, bool Wide, bool Whole>
void depthwise(const TileCall& call) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto last = static_cast<size_t>(call.width - (Wide ? lanes : 0));
  const auto load = [&](const float* from) {
    if constexpr (Whole) return hn::LoadU(d, from);
    return loadSome(from, last);
  };
  V left[Rows];
  V right[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    left[r] = call.bias != nullptr ? hn::LoadU(d, call.bias) : hn::Zero(d);
    right[r] = Wide && call.bias != nullptr ? hn::LoadU(d, call.bias + lanes) : hn::Zero(d);
  }
  for (int64_t t = 0; t < call.taps; ++t) {
    const V w0 = hn::LoadU(d, call.panel + t * 2 * lanes);
    const V w1 = Wide ? hn::LoadU(d, call.panel + t * 2 * lanes + lanes) : w0;
    const float* in = call.sources[t] + call.offset;
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      if constexpr (Wide) {
        left[r] = hn::MulAdd(hn::LoadU(d, in), w0, left[r]);
        right[r] = hn::MulAdd(load(in + lanes), w1, right[r]);
      } else {
        left[r] = hn::MulAdd(load(in), w0, left[r]);
      }
      in += call.rowStep;
    }
  }
  store<Rows, Wide>(call, left, right);
}

template <int Rows>
void depthwiseAny(const TileCall& call) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  if (call.width == 2 * lanes) return depthwise<Rows, true, true>(call);
  if (call.width > lanes) return depthwise<Rows, true, false>(call);
  if (call.width == lanes) return depthwise<Rows, false, true>(call);
  depthwise<Rows, false, false>(call);
}

TileFunctions tiles() {
  return {nullptr,       tileAny<1, 4>, tileAny<2, 2>, tileAny<3, 2>, tileAny<4, 1>,
          tileAny<5, 1>, tileAny<6, 1>, tileAny<7, 1>, tileAny<8, 1>};
}

TileFunctions depthwiseTiles() {
  return {nullptr,         depthwiseAny<1>, depthwiseAny<2>, depthwiseAny<3>, depthwiseAny<4>,
          depthwiseAny<5>, depthwiseAny<6>, depthwiseAny<7>, depthwiseAny<8>};
}

TileGeometry geometry() { return {kRows, static_cast<int>(2 * hn::Lanes(D()))}; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(tiles);
TENON_SIMD_TABLE(depthwiseTiles);
TENON_SIMD_TABLE(geometry);

}  // namespace

TileGeometry tileGeometry() {
  static const TileGeometry kGeometry = TENON_SIMD_BEST(geometry)();
  return kGeometry;
}

const TileFunctions& tileFunctions() {
  static const TileFunctions kFunctions = TENON_SIMD_BEST(tiles)();
  return kFunctions;
}

const TileFunctions& depthwiseFunctions() {
  static const TileFunctions kFunctions = TENON_SIMD_BEST(depthwiseTiles)();
  return kFunctions;
}

int64_t panelCount(int64_t columns) {
  const int64_t width = tileGeometry().columns;
  return (columns + width - 1) / width;
}

void packPanelsInto(const PanelSource& source, float* to, int64_t panelStride) {
  constexpr int64_t kBlock = 64;  // of depth, so that neither side leaves the first cache
  const int64_t width = tileGeometry().columns;
  const int64_t panels = panelCount(source.columns);
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
