// Loops over the places of a grid. Plain loops, of which the compiler makes vectors for each instruction set. Highway
// wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/grid_sample_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cmath>

#include "backends/cpu/kernels/simd/grid_sample_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace grid {

using ops::GridBorder;
using ops::GridMode;

// The first where it is no number.
HWY_INLINE float held(float x, float low, float high) {
  const float above = x > low ? x : low;
  return above < high ? above : high;
}

struct AxisTaps {
  int32_t pixel[2][kGridPlaces];
  float weight[2][kGridPlaces];
};

template <GridMode kMode, GridBorder kBorder>
void locateAxis(const float* HWY_RESTRICT places, size_t count, int32_t extent, bool align, AxisTaps& taps) {
  const auto size = static_cast<float>(extent);
  const float low = align ? 0.0F : -0.5F, span = align ? size - 1 : size;
  const float factor = align ? (size - 1) * 0.5F : size, step = align ? 0.0F : 1.0F, half = align ? 1.0F : 0.5F;
  for (size_t i = 0; i < count; ++i) {
    float at = ((places[2 * i] + 1) * factor - step) * half;
    if (kBorder == GridBorder::kClamp) at = held(at, 0, size - 1);
    if (kBorder == GridBorder::kReflect) {
      const float distance = std::abs(at - low);
      const float turns = std::floor(distance / span);
      const float rest = distance - turns * span;
      const float odd = turns - std::floor(turns * 0.5F) * 2;
      at = span > 0 ? held((odd > 0.5F ? span - rest : rest) + low, -0.5F, size - 0.5F) : 0.0F;
    }
    const float first = kMode == GridMode::kLinear ? std::floor(at) : std::rint(at);
    const float part = kMode == GridMode::kLinear ? at - first : 0.0F;
    const float second = first + 1;
    taps.pixel[0][i] = static_cast<int32_t>(held(first, 0, size - 1));
    taps.pixel[1][i] = static_cast<int32_t>(held(second, 0, size - 1));
    const bool isFirst = kBorder != GridBorder::kZero || (first >= 0 && first <= size - 1);
    const bool isSecond = kBorder != GridBorder::kZero || (second >= 0 && second <= size - 1);
    taps.weight[0][i] = isFirst ? 1 - part : 0.0F;
    taps.weight[1][i] = isSecond ? part : 0.0F;
  }
}

template <GridMode kMode>
auto locatorOf(GridBorder border) {
  if (border == GridBorder::kClamp) return locateAxis<kMode, GridBorder::kClamp>;
  return border == GridBorder::kReflect ? locateAxis<kMode, GridBorder::kReflect>
                                        : locateAxis<kMode, GridBorder::kZero>;
}

void locate(const ops::GridSample& op, const float* grid, size_t count, int32_t rows, int32_t columns,
            GridCorners& corners) {
  const auto axis =
      op.mode == GridMode::kLinear ? locatorOf<GridMode::kLinear>(op.border) : locatorOf<GridMode::kNearest>(op.border);
  AxisTaps across, down;
  axis(grid, count, columns, op.alignCorners, across);
  axis(grid + 1, count, rows, op.alignCorners, down);
  for (size_t corner = 0; corner < 4; ++corner) {
    const size_t a = corner / 2, b = corner % 2;
    for (size_t i = 0; i < count; ++i) {
      corners.pixel[corner][i] = down.pixel[a][i] * columns + across.pixel[b][i];
      corners.weight[corner][i] = down.weight[a][i] * across.weight[b][i];
    }
  }
}

namespace hn = hwy::HWY_NAMESPACE;

void sum(const float* plane, const GridCorners& corners, size_t taps, size_t count, float* y) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto total = hn::Zero(d);
    for (size_t corner = 0; corner < taps; ++corner) {
      const auto weight = hn::LoadU(d, corners.weight[corner] + i);
      const auto pixel = hn::GatherIndex(d, plane, hn::LoadU(di, corners.pixel[corner] + i));
      total = hn::Add(total, hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), hn::Mul(weight, pixel)));
    }
    hn::StoreU(total, d, y + i);
  }
  for (; i < count; ++i) {
    float total = 0;
    for (size_t corner = 0; corner < taps; ++corner) {
      const float weight = corners.weight[corner][i];
      if (weight != 0) total += weight * plane[corners.pixel[corner][i]];
    }
    y[i] = total;
  }
}

}  // namespace grid

GridSampleFunctions findGridSample() { return {grid::locate, grid::sum}; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findGridSample);

}  // namespace

GridSampleFunctions gridSampleFunctions() { return TENON_SIMD_BEST(findGridSample)(); }

}  // namespace tenon::backends::cpu
#endif
