// Depthwise convolution of channels-last tensors: a thread computes a pack of neighbouring channels at two neighbouring
// places. Weights lie as [tap][channel].
#pragma once

#include "contraction.cuh"

constexpr int kPack = sizeof(X) == 2 ? 8 : 4;
constexpr int kPlaces = 2;  // along the last axis: taps that both need are read once by the cache, weights once at all

template <int kOperands, typename Y, typename Finish>
__device__ inline void convolveDepthwise(const WindowParameters& p, Finish finish) {
  i64 rest = globalIndex();
  if (rest >= p.count) return;
  const int channel = (int)takeIndex(rest, p.channels / kPack) * kPack;
  const int x0 = (int)takeIndex(rest, (p.window[2].small + kPlaces - 1) / kPlaces) * kPlaces;
  const int y0 = (int)takeIndex(rest, p.window[1].small);
  const i64 n = rest;
  float sum[kPlaces][kPack];
#pragma unroll
  for (int j = 0; j < kPack; ++j) {
    const float start = p.bias != nullptr ? load<X>(p.bias, channel + j) : 0.f;
#pragma unroll
    for (int k = 0; k < kPlaces; ++k) sum[k][j] = start;
  }
  const X* x = (const X*)p.x + n * p.xStride[0] + channel;
  const X* w = (const X*)p.w + channel;
  for (int ty = 0; ty < p.window[1].kernel; ++ty) {
    const int row = y0 * p.window[1].stride + ty * p.window[1].dilation - p.window[1].before;
    if (row < 0 || row >= p.window[1].large) continue;
    const X* line = x + row * p.xStride[3];
    for (int tx = 0; tx < p.window[2].kernel; ++tx) {
      const Pack<X, kPack> weights = *(const Pack<X, kPack>*)(w + (i64)(ty * p.window[2].kernel + tx) * p.channels);
#pragma unroll
      for (int k = 0; k < kPlaces; ++k) {
        const int column = (x0 + k) * p.window[2].stride + tx * p.window[2].dilation - p.window[2].before;
        if (column < 0 || column >= p.window[2].large) continue;
        const Pack<X, kPack> values = *(const Pack<X, kPack>*)(line + column * p.xStride[4]);
#pragma unroll
        for (int j = 0; j < kPack; ++j) sum[k][j] += Element<X>::load(values.e[j]) * Element<X>::load(weights.e[j]);
      }
    }
  }
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
