// Tiles in Highway: the accumulators stay in registers over the whole sum.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/run/gemm_tile.cpp"
#include "backends/cpu/run/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/run/gemm_tile.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kMaxTileColumns / 2>;
using V = hn::Vec<D>;

constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 8 : 6;  // as many as there are registers for

// Adds the addend, clamps and stores. The maximum takes its second operand where one is NaN, so NaN stays.
template <int Rows>
HWY_INLINE void store(const TileCall& call, V* left, V* right) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V low = hn::Set(d, call.low);
  const V high = hn::Set(d, call.high);
  const auto finish = [&](V value) { return hn::Min(high, hn::Max(low, value)); };
  const bool whole = call.width == 2 * lanes;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    float* const out = call.out + r * call.outStride;
    if (whole) {
      if (call.addend != nullptr) {
        const float* const addend = call.addend + r * call.addendStride;
        left[r] = hn::Add(left[r], hn::LoadU(d, addend));
        right[r] = hn::Add(right[r], hn::LoadU(d, addend + lanes));
      }
      hn::StoreU(finish(left[r]), d, out);
      hn::StoreU(finish(right[r]), d, out + lanes);
    } else {
      alignas(64) float buffer[kMaxTileColumns] = {};
      if (call.addend != nullptr) {
        for (int64_t j = 0; j < call.width; ++j) buffer[j] = call.addend[r * call.addendStride + j];
      }
      hn::StoreU(finish(hn::Add(left[r], hn::LoadU(d, buffer))), d, buffer);
      hn::StoreU(finish(hn::Add(right[r], hn::LoadU(d, buffer + lanes))), d, buffer + lanes);
      for (int64_t j = 0; j < call.width; ++j) out[j] = buffer[j];
    }
  }
}

// `Chains` partial sums per result, where few rows would leave the multipliers waiting for each other.
template <int Rows, int Chains>
void tile(const TileCall& call) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V left[Chains][Rows];
  V right[Chains][Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    left[0][r] = call.bias != nullptr ? hn::LoadU(d, call.bias) : hn::Zero(d);
    right[0][r] = call.bias != nullptr ? hn::LoadU(d, call.bias + lanes) : hn::Zero(d);
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
        const V b1 = hn::LoadU(d, panel + lanes);
        panel += 2 * lanes;
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
          const V a = hn::Set(d, in[r][c + u]);
          left[u][r] = hn::MulAdd(a, b0, left[u][r]);
          right[u][r] = hn::MulAdd(a, b1, right[u][r]);
        }
      }
    }
    for (; c < call.depth; ++c) {
      const V b0 = hn::LoadU(d, panel);
      const V b1 = hn::LoadU(d, panel + lanes);
      panel += 2 * lanes;
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const V a = hn::Set(d, in[r][c]);
        left[0][r] = hn::MulAdd(a, b0, left[0][r]);
        right[0][r] = hn::MulAdd(a, b1, right[0][r]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int u = 1; u < Chains; ++u) {
      left[0][r] = hn::Add(left[0][r], left[u][r]);
      right[0][r] = hn::Add(right[0][r], right[u][r]);
    }
  }
  store<Rows>(call, left[0], right[0]);
}

// Columns that do not exist are not read.
template <int Rows, bool Whole>
void depthwise(const TileCall& call) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto width = static_cast<size_t>(call.width);
  const auto first = hn::FirstN(d, width);
  const auto second = hn::FirstN(d, width > static_cast<size_t>(lanes) ? width - static_cast<size_t>(lanes) : 0);
  V left[Rows];
  V right[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    left[r] = call.bias != nullptr ? hn::LoadU(d, call.bias) : hn::Zero(d);
    right[r] = call.bias != nullptr ? hn::LoadU(d, call.bias + lanes) : hn::Zero(d);
  }
  for (int64_t t = 0; t < call.taps; ++t) {
    const V w0 = hn::LoadU(d, call.panel + t * 2 * lanes);
    const V w1 = hn::LoadU(d, call.panel + t * 2 * lanes + lanes);
    const float* in = call.sources[t] + call.offset;
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      if constexpr (Whole) {
        left[r] = hn::MulAdd(hn::LoadU(d, in), w0, left[r]);
        right[r] = hn::MulAdd(hn::LoadU(d, in + lanes), w1, right[r]);
      } else {
        left[r] = hn::MulAdd(hn::MaskedLoad(first, d, in), w0, left[r]);
        right[r] = hn::MulAdd(hn::MaskedLoad(second, d, in + lanes), w1, right[r]);
      }
      in += call.rowStep;
    }
  }
  store<Rows>(call, left, right);
}

template <int Rows>
void depthwiseAny(const TileCall& call) {
  if (call.width == static_cast<int64_t>(2 * hn::Lanes(D()))) return depthwise<Rows, true>(call);
  depthwise<Rows, false>(call);
}

TileFunction findDepthwise(int rows) {
  switch (rows) {
    case 1: return depthwiseAny<1>;
    case 2: return depthwiseAny<2>;
    case 3: return depthwiseAny<3>;
    case 4: return depthwiseAny<4>;
    case 5: return depthwiseAny<5>;
    case 6: return depthwiseAny<6>;
    case 7: return depthwiseAny<7>;
    case 8: return depthwiseAny<8>;
    default: return nullptr;
  }
}

TileFunction find(int rows) {
  switch (rows) {
    case 1: return tile<1, 4>;
    case 2: return tile<2, 2>;
    case 3: return tile<3, 2>;
    case 4: return tile<4, 1>;
    case 5: return tile<5, 1>;
    case 6: return tile<6, 1>;
    case 7: return tile<7, 1>;
    case 8: return tile<8, 1>;
    default: return nullptr;
  }
}

TileGeometry geometry() { return {kRows, static_cast<int>(2 * hn::Lanes(D()))}; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace tenon::backends::cpu {
namespace {

HWY_EXPORT(find);
HWY_EXPORT(findDepthwise);
HWY_EXPORT(geometry);

}  // namespace

TileGeometry tileGeometry() {
  static const TileGeometry kGeometry = [] {
    limitSimdTargets();
    return HWY_DYNAMIC_DISPATCH(geometry)();
  }();
  return kGeometry;
}

TileFunction tileFunction(int rows) {
  limitSimdTargets();
  return HWY_DYNAMIC_DISPATCH(find)(rows);
}

TileFunction depthwiseFunction(int rows) {
  limitSimdTargets();
  return HWY_DYNAMIC_DISPATCH(findDepthwise)(rows);
}

int64_t panelCount(int64_t columns) {
  const int64_t width = tileGeometry().columns;
  return (columns + width - 1) / width;
}

std::vector<float> packPanels(const float* data, int64_t depth, int64_t columns, int64_t depthStride, int64_t columnStride) {
  const int64_t width = tileGeometry().columns;
  const int64_t panels = panelCount(columns);
  std::vector<float> result(static_cast<size_t>(panels * depth * width), 0.f);
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t count = std::min(width, columns - p * width);
    for (int64_t k = 0; k < depth; ++k) {
      float* const to = result.data() + (p * depth + k) * width;
      const float* const from = data + k * depthStride + p * width * columnStride;
      for (int64_t j = 0; j < count; ++j) to[j] = from[j * columnStride];
    }
  }
  return result;
}

}  // namespace tenon::backends::cpu
#endif
