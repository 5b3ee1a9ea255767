// Tiles of depthwise sums in Highway: a column's weight meets the same column of each pixel.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/common/depthwise_tile.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/common/gemm_tile.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/minmax.inc"
#include "backends/cpu/kernels/simd/tile_store.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

// Columns that do not exist are not read. `Apart`: each pixel's taps have addresses of their own.
template <int Rows, bool Wide, bool Whole, bool Apart>
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
    const float* in = Apart ? nullptr : call.sources[t] + call.offset;
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      if constexpr (Apart) in = call.sources[t * Rows + r] + call.offset;
      if constexpr (Wide) {
        left[r] = hn::MulAdd(hn::LoadU(d, in), w0, left[r]);
        right[r] = hn::MulAdd(load(in + lanes), w1, right[r]);
      } else {
        left[r] = hn::MulAdd(load(in), w0, left[r]);
      }
      if constexpr (!Apart) in += call.rowStep;
    }
  }
  store<Rows, Wide>(call, left, right);
}

template <int Rows, bool Apart>
void depthwiseAny(const TileCall& call) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  if (call.width == 2 * lanes) return depthwise<Rows, true, true, Apart>(call);
  if (call.width > lanes) return depthwise<Rows, true, false, Apart>(call);
  if (call.width == lanes) return depthwise<Rows, false, true, Apart>(call);
  depthwise<Rows, false, false, Apart>(call);
}

template <bool Apart>
TileFunctions tilesOf() {
  return {nullptr,
          depthwiseAny<1, Apart>,
          depthwiseAny<2, Apart>,
          depthwiseAny<3, Apart>,
          depthwiseAny<4, Apart>,
          depthwiseAny<5, Apart>,
          depthwiseAny<6, Apart>,
          depthwiseAny<7, Apart>,
          depthwiseAny<8, Apart>};
}

TileFunctions depthwiseTiles() { return tilesOf<false>(); }
TileFunctions depthwiseTilesApart() { return tilesOf<true>(); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(depthwiseTiles);
TENON_SIMD_TABLE(depthwiseTilesApart);

}  // namespace

const TileFunctions& depthwiseFunctions() {
  static const TileFunctions kFunctions = TENON_SIMD_BEST(depthwiseTiles)();
  return kFunctions;
}

const TileFunctions& depthwiseApartFunctions() {
  static const TileFunctions kFunctions = TENON_SIMD_BEST(depthwiseTilesApart)();
  return kFunctions;
}

}  // namespace tenon::backends::cpu
#endif
