// Rows of depthwise sums in Highway: a vector holds neighbouring channels, whose weights stay in registers along the
// row, and a column that is loaded serves all windows that it stands in. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/depthwise_rows_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/common/gemm_tile.h"
#include "backends/cpu/kernels/simd/depthwise_rows_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/tile_store.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

// One column of the three lines.
struct Column {
  V top, middle, bottom;
};

HWY_INLINE V addColumn(const Column& x, V w0, V w1, V w2, V sum) {
  return hn::MulAdd(x.bottom, w2, hn::MulAdd(x.middle, w1, hn::MulAdd(x.top, w0, sum)));
}

// The channels from `channel` on; all of a vector where it is `Whole`, else `some`.
template <int Stride, bool Whole>
HWY_INLINE void row(const DepthwiseRows& call, int64_t channel, size_t some) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = 2 * lanes;
  const float* const weights = call.panels + channel / width * width * 9 + channel % width;
  const auto weight = [&](int64_t tap) { return hn::LoadU(d, weights + tap * width); };
  const V w00 = weight(0), w01 = weight(1), w02 = weight(2), w10 = weight(3), w11 = weight(4), w12 = weight(5),
          w20 = weight(6), w21 = weight(7), w22 = weight(8);
  const V bias = call.bias != nullptr ? hn::LoadU(d, call.bias + channel) : hn::Zero(d);
  const V low = hn::Set(d, call.low), high = hn::Set(d, call.high);
  const float* const top = call.lines[0] + channel;
  const float* const middle = call.lines[1] + channel;
  const float* const bottom = call.lines[2] + channel;
  const auto load = [&](const float* from) {
    if constexpr (Whole) return hn::LoadU(d, from);
    return loadSome(from, some);
  };
  const auto inside = [&](int64_t at) -> Column {
    return {load(top + at * call.steps[0]), load(middle + at * call.steps[1]), load(bottom + at * call.steps[2])};
  };
  const auto column = [&](int64_t at) -> Column {
    if (at >= 0 && at < call.columns) return inside(at);
    return {hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  };
  float* out = call.out + channel;
  const auto store = [&](V sum) {
    const V value = hn::Min(high, hn::Max(low, sum));
    if constexpr (Whole) {
      hn::StoreU(value, d, out);
    } else {
      storeSome(value, some, out);
    }
    out += call.outStep;
  };
  // The last column that a pixel reads is inside up to here.
  const int64_t reach = (call.columns - 3 - call.first) / Stride + 1;
  const int64_t inner = call.columns < 3 + call.first ? 0 : std::min(call.pixels, reach);
  int64_t at = call.first;
  const Column one = column(at);
  V sum = addColumn(one, w00, w10, w20, bias);
  if constexpr (Stride == 1) {
    const Column two = column(at + 1);
    sum = addColumn(two, w01, w11, w21, sum);
    V next = addColumn(two, w00, w10, w20, bias);
    at += 2;
    const auto go = [&](const Column& x) {
      store(addColumn(x, w02, w12, w22, sum));
      sum = addColumn(x, w01, w11, w21, next);
      next = addColumn(x, w00, w10, w20, bias);
      ++at;
    };
    int64_t p = 0;
    for (; p < inner; ++p) go(inside(at));
    for (; p < call.pixels; ++p) go(column(at));
  } else {
    const auto go = [&](const Column& two, const Column& three) {
      store(addColumn(three, w02, w12, w22, addColumn(two, w01, w11, w21, sum)));
      sum = addColumn(three, w00, w10, w20, bias);
      at += 2;
    };
    int64_t p = 0;
    for (; p < inner; ++p) go(inside(at + 1), inside(at + 2));
    for (; p < call.pixels; ++p) go(column(at + 1), column(at + 2));
  }
}

template <int Stride>
void rows(const DepthwiseRows& call) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  int64_t channel = 0;
  for (; channel + lanes <= call.channels; channel += lanes) row<Stride, true>(call, channel, 0);
  if (channel < call.channels) row<Stride, false>(call, channel, static_cast<size_t>(call.channels - channel));
}

std::array<DepthwiseRowsFunction, 2> depthwiseRows() { return {&rows<1>, &rows<2>}; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(depthwiseRows);

}  // namespace

DepthwiseRowsFunction depthwiseRowsFunction(int64_t stride) {
  static const std::array<DepthwiseRowsFunction, 2> kFunctions = TENON_SIMD_BEST(depthwiseRows)();
  return kFunctions[static_cast<size_t>(stride - 1)];
}

}  // namespace tenon::backends::cpu
#endif
