// Depthwise convolution of channels-last tensors, whose weights lie as [tap][channel]: square windows without dilation
// by DepthwiseRows or DepthwiseStrips; any other by threads that compute a pack of neighbouring channels at two
// neighbouring places of a row.
#pragma once

#include "depthwise_strips.cuh"

constexpr int kPack = sizeof(X) == 2 ? 8 : 4;

// Where a thread works, and what it has summed.
template <int kPlaces>
struct Strip {
  int channel, x0, y0;
  i64 n;
  float sum[kPlaces][kPack];

  __device__ Strip(const WindowParameters& p, i64 rest) {
    channel = (int)takeIndex(rest, p.channels / kPack) * kPack;
    x0 = (int)takeIndex(rest, (p.window[2].small + kPlaces - 1) / kPlaces) * kPlaces;
    y0 = (int)takeIndex(rest, p.window[1].small);
    n = rest;
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      const float start = p.bias != nullptr ? load<X>(p.bias, channel + j) : 0.f;
#pragma unroll
      for (int k = 0; k < kPlaces; ++k) sum[k][j] = start;
    }
  }

  template <int kOperands, typename Y, typename Finish>
  __device__ void store(const WindowParameters& p, Finish finish) const {
#pragma unroll
    for (int k = 0; k < kPlaces; ++k) {
      if (x0 + k >= p.window[2].small) continue;
      Place place;
      place.n = n;
      place.channel = channel;
      place.s[0] = 0;
      place.s[1] = y0;
      place.s[2] = x0 + k;
      i64 at[kOperands];
      offsetsOf<kOperands>(p, place, at);
      const i64 to = at[0];
      Pack<Y, kPack> result;
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        result.e[j] = finish(p, at, sum[k][j]);
#pragma unroll
        for (int operand = 0; operand < kOperands; ++operand) at[operand] += p.stride[operand][1];
      }
      *(Pack<Y, kPack>*)((Y*)p.data[0] + to) = result;
    }
  }
};

// Any window, so many taps at a time: their loads are on their way together. What is outside is not multiplied, since a
// weight may be infinite.
template <int kTaps, int kPlaces>
__device__ inline void sumWindow(const WindowParameters& p, Strip<kPlaces>& strip) {
  const X* x = (const X*)p.x + strip.n * p.xStride[0] + strip.channel;
  const X* w = (const X*)p.w + strip.channel;
  const int taps = p.window[1].kernel * p.window[2].kernel;
  int ty = 0, tx = 0;
  for (int first = 0; first < taps; first += kTaps) {
    Pack<X, kPack> weights[kTaps], values[kTaps][kPlaces];
    bool inside[kTaps][kPlaces];
#pragma unroll
    for (int i = 0; i < kTaps; ++i) {
      const bool isTap = first + i < taps;
      const int row = strip.y0 * p.window[1].stride + ty * p.window[1].dilation - p.window[1].before;
      const bool isRow = isTap && row >= 0 && row < p.window[1].large;
      if (isTap) weights[i] = *(const Pack<X, kPack>*)(w + (i64)(first + i) * p.channels);
#pragma unroll
      for (int k = 0; k < kPlaces; ++k) {
        const int column = (strip.x0 + k) * p.window[2].stride + tx * p.window[2].dilation - p.window[2].before;
        inside[i][k] = isRow && column >= 0 && column < p.window[2].large;
        if (inside[i][k]) values[i][k] = *(const Pack<X, kPack>*)(x + row * p.xStride[3] + column * p.xStride[4]);
      }
      if (++tx == p.window[2].kernel) {
        tx = 0;
        ++ty;
      }
    }
#pragma unroll
    for (int i = 0; i < kTaps; ++i) {
#pragma unroll
      for (int k = 0; k < kPlaces; ++k) {
        if (!inside[i][k]) continue;
#pragma unroll
        for (int j = 0; j < kPack; ++j)
          strip.sum[k][j] += Element<X>::load(values[i][k].e[j]) * Element<X>::load(weights[i].e[j]);
      }
    }
  }
}

// For kernels that wait themselves. kVariant: 1000 * width + 100 * kernel + 10 * stride + places, or 0 for any window;
// DepthwiseStrips has 8 places.
template <int kVariant, int kOperands, typename Y, typename Finish>
__device__ inline void convolveDepthwise(const WindowParameters& p, Finish finish) {
  if constexpr (kVariant % 10 == 8) {
    DepthwiseStrips<kVariant / 100 % 10> strips;
    strips.template convolve<kOperands, Y>(p, finish);
  } else if constexpr (kVariant != 0) {
    DepthwiseRows<kVariant / 100 % 10, kVariant / 10 % 10, kVariant % 10, kVariant / 1000> rows;
    rows.template convolve<kOperands, Y>(p, finish);
  } else {
    afterPredecessor();
    const i64 index = globalIndex();
    if (index >= p.count) return;
    Strip<2> strip(p, index);
    sumWindow<4>(p, strip);
    strip.template store<kOperands, Y>(p, finish);
  }
}
