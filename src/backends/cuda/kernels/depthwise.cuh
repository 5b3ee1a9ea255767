// Depthwise convolution of channels-last tensors: a thread computes a pack of neighbouring channels at a few neighbouring
// places along the last axis. Weights lie as [tap][channel].
#pragma once

#include "contraction.cuh"

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

// Any window.
template <int kPlaces>
__device__ inline void sumWindow(const WindowParameters& p, Strip<kPlaces>& strip) {
  const X* x = (const X*)p.x + strip.n * p.xStride[0] + strip.channel;
  const X* w = (const X*)p.w + strip.channel;
  for (int ty = 0; ty < p.window[1].kernel; ++ty) {
    const int row = strip.y0 * p.window[1].stride + ty * p.window[1].dilation - p.window[1].before;
    if (row < 0 || row >= p.window[1].large) continue;
    const X* line = x + row * p.xStride[3];
    for (int tx = 0; tx < p.window[2].kernel; ++tx) {
      const Pack<X, kPack> weights = *(const Pack<X, kPack>*)(w + (i64)(ty * p.window[2].kernel + tx) * p.channels);
#pragma unroll
      for (int k = 0; k < kPlaces; ++k) {
        const int column = (strip.x0 + k) * p.window[2].stride + tx * p.window[2].dilation - p.window[2].before;
        if (column < 0 || column >= p.window[2].large) continue;
        const Pack<X, kPack> values = *(const Pack<X, kPack>*)(line + column * p.xStride[4]);
#pragma unroll
        for (int j = 0; j < kPack; ++j) strip.sum[k][j] += Element<X>::load(values.e[j]) * Element<X>::load(weights.e[j]);
      }
    }
  }
}

// Square windows without dilation: what a row of the window needs is loaded at once, and each element once.
template <int kKernel, int kStride, int kPlaces>
__device__ inline void sumSquare(const WindowParameters& p, Strip<kPlaces>& strip) {
  constexpr int kReach = (kPlaces - 1) * kStride + kKernel;
  const int column0 = strip.x0 * kStride - p.window[2].before;
  const X* x = (const X*)p.x + strip.n * p.xStride[0] + strip.channel + column0 * p.xStride[4];
  const X* w = (const X*)p.w + strip.channel;
#pragma unroll(kKernel <= 3 ? kKernel : 1)
  for (int ty = 0; ty < kKernel; ++ty) {
    const int row = strip.y0 * kStride + ty - p.window[1].before;
    if (row < 0 || row >= p.window[1].large) continue;
    const X* line = x + row * p.xStride[3];
    Pack<X, kPack> values[kReach];
#pragma unroll
    for (int r = 0; r < kReach; ++r) {
      values[r] = Pack<X, kPack>{};
      if (column0 + r >= 0 && column0 + r < p.window[2].large) values[r] = *(const Pack<X, kPack>*)(line + r * p.xStride[4]);
    }
    Pack<X, kPack> weights[kKernel];
#pragma unroll
    for (int tx = 0; tx < kKernel; ++tx) weights[tx] = *(const Pack<X, kPack>*)(w + (i64)(ty * kKernel + tx) * p.channels);
    float weight[kKernel][kPack];
#pragma unroll
    for (int tx = 0; tx < kKernel; ++tx) {
#pragma unroll
      for (int j = 0; j < kPack; ++j) weight[tx][j] = Element<X>::load(weights[tx].e[j]);
    }
#pragma unroll
    for (int r = 0; r < kReach; ++r) {
      // Beyond the edge there is nothing: zeros would make a NaN of an infinite weight.
      if (column0 + r < 0 || column0 + r >= p.window[2].large) continue;
      float value[kPack];
#pragma unroll
      for (int j = 0; j < kPack; ++j) value[j] = Element<X>::load(values[r].e[j]);
#pragma unroll
      for (int k = 0; k < kPlaces; ++k) {
        const int tx = r - k * kStride;
        if (tx < 0 || tx >= kKernel) continue;
#pragma unroll
        for (int j = 0; j < kPack; ++j) strip.sum[k][j] += value[j] * weight[tx][j];
      }
    }
  }
}

// The same for one place: all that the window needs is loaded at once, for launches too small to hide a row behind others.
template <int kKernel, int kStride>
__device__ inline void sumAtOnce(const WindowParameters& p, Strip<1>& strip) {
  const int column0 = strip.x0 * kStride - p.window[2].before;
  const int row0 = strip.y0 * kStride - p.window[1].before;
  const X* x = (const X*)p.x + strip.n * p.xStride[0] + strip.channel + row0 * p.xStride[3] + column0 * p.xStride[4];
  const X* w = (const X*)p.w + strip.channel;
  Pack<X, kPack> values[kKernel][kKernel];
  Pack<X, kPack> weights[kKernel][kKernel];
  bool inside[kKernel][kKernel];
#pragma unroll
  for (int ty = 0; ty < kKernel; ++ty) {
#pragma unroll
    for (int tx = 0; tx < kKernel; ++tx) {
      inside[ty][tx] = row0 + ty >= 0 && row0 + ty < p.window[1].large && column0 + tx >= 0 && column0 + tx < p.window[2].large;
      values[ty][tx] = Pack<X, kPack>{};
      if (inside[ty][tx]) values[ty][tx] = *(const Pack<X, kPack>*)(x + ty * p.xStride[3] + tx * p.xStride[4]);
      weights[ty][tx] = *(const Pack<X, kPack>*)(w + (i64)(ty * kKernel + tx) * p.channels);
    }
  }
#pragma unroll
  for (int ty = 0; ty < kKernel; ++ty) {
#pragma unroll
    for (int tx = 0; tx < kKernel; ++tx) {
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        const float product = Element<X>::load(values[ty][tx].e[j]) * Element<X>::load(weights[ty][tx].e[j]);
        strip.sum[0][j] += inside[ty][tx] ? product : 0.f;
      }
    }
  }
}

// kVariant: 100 * kernel + 10 * stride + places, or 0 for any window.
template <int kVariant, int kOperands, typename Y, typename Finish>
__device__ inline void convolveDepthwise(const WindowParameters& p, Finish finish) {
  const i64 index = globalIndex();
  if (index >= p.count) return;
  constexpr int kPlaces = kVariant == 0 ? 2 : kVariant % 10;
  Strip<kPlaces> strip(p, index);
  if constexpr (kVariant == 0) {
    sumWindow(p, strip);
  } else if constexpr (kPlaces == 1) {
    sumAtOnce<kVariant / 100, kVariant / 10 % 10>(p, strip);
  } else {
    sumSquare<kVariant / 100, kVariant / 10 % 10>(p, strip);
  }
  strip.template store<kOperands, Y>(p, finish);
}
