// Rows of depthwise sums in Highway: a vector holds neighbouring channels, and a column that is loaded serves all
// windows that it stands in. Weights of windows three wide stay in registers along the row, of wider ones a line's.
// Highway wants its headers in this order.
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

// What a row of one vector of channels reads and writes: all of the vector where it is `Whole`, else `some`.
template <bool Whole, bool Leaky>
struct Ends {
  const DepthwiseRows& call;
  size_t some;
  float* out;
  V low, high, slope;

  Ends(const DepthwiseRows& all, int64_t channel, size_t count) : call(all), some(count), out(all.out + channel) {
    const D d;
    low = hn::Set(d, call.low);
    high = hn::Set(d, call.high);
    slope = hn::Set(d, call.slope);
    if (Leaky && call.slopes != nullptr) slope = load(call.slopes + channel);
  }
  HWY_INLINE V load(const float* from) const {
    if constexpr (Whole) return hn::LoadU(D(), from);
    return loadSome(from, some);
  }
  HWY_INLINE void store(V sum) {
    const V value = finish<Leaky>(sum, low, high, slope);
    if constexpr (Whole) {
      hn::StoreU(value, D(), out);
    } else {
      storeSome(value, some, out);
    }
    out += call.outStep;
  }
};

HWY_INLINE const float* weightsAt(const DepthwiseRows& call, int64_t channel, int64_t taps) {
  const int64_t width = 2 * static_cast<int64_t>(hn::Lanes(D()));
  return call.panels + channel / width * width * taps + channel % width;
}

HWY_INLINE V biasAt(const DepthwiseRows& call, int64_t channel) {
  return call.bias != nullptr ? hn::LoadU(D(), call.bias + channel) : hn::Zero(D());
}

// Pixels whose last column, and those before it, are inside the image but for the first ones.
HWY_INLINE int64_t innerPixels(const DepthwiseRows& call, int64_t size, int64_t stride) {
  const int64_t room = call.columns - size - call.first;
  return room < 0 ? 0 : std::min(call.pixels, room / stride + 1);
}

// One column of three lines, or of one, which is the first.
struct Column {
  V top, middle, bottom;
};

template <int Lines>
HWY_INLINE V addColumn(const Column& x, const Column& w, V sum) {
  sum = hn::MulAdd(x.top, w.top, sum);
  if constexpr (Lines == 3) sum = hn::MulAdd(x.bottom, w.bottom, hn::MulAdd(x.middle, w.middle, sum));
  return sum;
}

// The channels from `channel` on, windows of 3x3 or 1x3.
template <int Lines, int Stride, bool Whole, bool Leaky>
HWY_INLINE void row3(const DepthwiseRows& call, int64_t channel, size_t some) {
  const D d;
  const int64_t width = 2 * static_cast<int64_t>(hn::Lanes(d));
  const float* const weights = weightsAt(call, channel, 3 * Lines);
  const auto weight = [&](int64_t tap) -> Column {
    const V first = hn::LoadU(d, weights + tap * width);
    if constexpr (Lines == 1) return {first, first, first};
    return {first, hn::LoadU(d, weights + (tap + 3) * width), hn::LoadU(d, weights + (tap + 6) * width)};
  };
  const Column w0 = weight(0), w1 = weight(1), w2 = weight(2);
  const V bias = biasAt(call, channel);
  Ends<Whole, Leaky> ends(call, channel, some);
  const float* const top = call.lines[0] + channel;
  const float* const middle = call.lines[Lines / 2] + channel;
  const float* const bottom = call.lines[Lines - 1] + channel;
  const int64_t topStep = call.steps[0], middleStep = call.steps[Lines / 2], bottomStep = call.steps[Lines - 1];
  const auto inside = [&](int64_t at) -> Column {
    const V first = ends.load(top + at * topStep);
    if constexpr (Lines == 1) return {first, first, first};
    return {first, ends.load(middle + at * middleStep), ends.load(bottom + at * bottomStep)};
  };
  const auto column = [&](int64_t at) -> Column {
    if (at >= 0 && at < call.columns) return inside(at);
    return {hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  };
  const int64_t pixels = call.pixels;
  const int64_t inner = innerPixels(call, 3, Stride);
  int64_t at = call.first;
  V sum = addColumn<Lines>(column(at), w0, bias);
  if constexpr (Stride == 1) {
    const Column two = column(at + 1);
    sum = addColumn<Lines>(two, w1, sum);
    V next = addColumn<Lines>(two, w0, bias);
    at += 2;
    const auto go = [&](const Column& x) {
      ends.store(addColumn<Lines>(x, w2, sum));
      sum = addColumn<Lines>(x, w1, next);
      next = addColumn<Lines>(x, w0, bias);
      ++at;
    };
    int64_t p = 0;
    for (; p < inner; ++p) go(inside(at));
    for (; p < pixels; ++p) go(column(at));
  } else {
    const auto go = [&](const Column& one, const Column& last) {
      ends.store(addColumn<Lines>(last, w2, addColumn<Lines>(one, w1, sum)));
      sum = addColumn<Lines>(last, w0, bias);
      at += 2;
    };
    int64_t p = 0;
    for (; p < inner; ++p) go(inside(at + 1), inside(at + 2));
    for (; p < pixels; ++p) go(column(at + 1), column(at + 2));
  }
}

// Eight pixels at a time, line by line: each column of a line meets the weights of all windows that it stands in.
template <int Stride, bool Whole, bool Leaky>
HWY_INLINE void row5(const DepthwiseRows& call, int64_t channel, size_t some) {
  constexpr int kSize = 5, kPixels = 8, kColumns = (kPixels - 1) * Stride + kSize;
  const D d;
  const int64_t width = 2 * static_cast<int64_t>(hn::Lanes(d));
  const float* const weights = weightsAt(call, channel, call.windowLines * kSize);
  const V bias = biasAt(call, channel);
  Ends<Whole, Leaky> ends(call, channel, some);
  const auto go = [&](int64_t at, int64_t count, auto isInside) {
    V sums[kPixels];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) sums[p] = bias;
    for (int64_t r = call.firstLine; r < call.endLine; ++r) {
      const float* const line = call.lines[static_cast<size_t>(r)] + channel;
      const int64_t step = call.steps[static_cast<size_t>(r)];
      V w[kSize];
#pragma GCC unroll 5
      for (int s = 0; s < kSize; ++s) w[s] = hn::LoadU(d, weights + (r * kSize + s) * width);
#pragma GCC unroll 19
      for (int c = 0; c < kColumns; ++c) {
        V x = hn::Zero(d);
        if (isInside() || (at + c >= 0 && at + c < call.columns)) x = ends.load(line + (at + c) * step);
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) {
          const int s = c - p * Stride;
          if (s >= 0 && s < kSize) sums[p] = hn::MulAdd(x, w[s], sums[p]);
        }
      }
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      if (p < count) ends.store(sums[p]);
    }
  };
  for (int64_t p = 0; p < call.pixels; p += kPixels) {
    const int64_t at = call.first + p * Stride;
    const int64_t count = std::min<int64_t>(kPixels, call.pixels - p);
    if (count == kPixels && at >= 0 && at + kColumns <= call.columns) {
      go(at, kPixels, std::true_type{});
    } else {
      go(at, count, std::false_type{});
    }
  }
}

template <int Size, int Stride, bool Leaky>
void rowsOf(const DepthwiseRows& call) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  const auto row = [&](int64_t channel, size_t some, auto isWhole) {
    if constexpr (Size == 3) {
      if (call.windowLines == 1) return row3<1, Stride, isWhole(), Leaky>(call, channel, some);
      row3<3, Stride, isWhole(), Leaky>(call, channel, some);
    } else {
      row5<Stride, isWhole(), Leaky>(call, channel, some);
    }
  };
  int64_t channel = 0;
  for (; channel + lanes <= call.channels; channel += lanes) row(channel, 0, std::true_type{});
  if (channel < call.channels) row(channel, static_cast<size_t>(call.channels - channel), std::false_type{});
}

template <int Size, int Stride>
void rows(const DepthwiseRows& call) {
  if (call.bends) return rowsOf<Size, Stride, true>(call);
  rowsOf<Size, Stride, false>(call);
}

std::array<DepthwiseRowsFunction, 4> depthwiseRows() { return {&rows<3, 1>, &rows<3, 2>, &rows<5, 1>, &rows<5, 2>}; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(depthwiseRows);

}  // namespace

DepthwiseRowsFunction depthwiseRowsFunction(int64_t width, int64_t stride) {
  static const std::array<DepthwiseRowsFunction, 4> kFunctions = TENON_SIMD_BEST(depthwiseRows)();
  return kFunctions[static_cast<size_t>((width - 3) + stride - 1)];
}

}  // namespace tenon::backends::cpu
#endif
