// Generic convolution: a thread per element of the result. Right for every type, group and padding; quick where a group
// has few channels.
#pragma once

#include "contraction.cuh"

template <int kOperands, typename Y, typename Finish>
__device__ inline void convolve(const WindowParameters& p, Finish finish) {
  const i64 index = globalIndex();
  if (index >= p.count) return;
  const int extent[3] = {p.window[0].small, p.window[1].small, p.window[2].small};
  const Place place = placeOf(p, index, extent);
  A sum = p.bias != nullptr ? (A)load<X>(p.bias, place.channel) : A(0);
  const i64 xBase = place.n * p.xStride[0] + (i64)(place.channel / p.groupOutputs * p.groupInputs) * p.xStride[1];
  const i64 wBase = place.channel * p.wStride[0];
  for (int tz = 0; tz < p.window[0].kernel; ++tz) {
    const int z = place.s[0] * p.window[0].stride + tz * p.window[0].dilation - p.window[0].before;
    if (z < 0 || z >= p.window[0].large) continue;
    for (int ty = 0; ty < p.window[1].kernel; ++ty) {
      const int y = place.s[1] * p.window[1].stride + ty * p.window[1].dilation - p.window[1].before;
      if (y < 0 || y >= p.window[1].large) continue;
      for (int tx = 0; tx < p.window[2].kernel; ++tx) {
        const int x = place.s[2] * p.window[2].stride + tx * p.window[2].dilation - p.window[2].before;
        if (x < 0 || x >= p.window[2].large) continue;
        const i64 from = xBase + z * p.xStride[2] + y * p.xStride[3] + x * p.xStride[4];
        const i64 weight = wBase + tz * p.wStride[2] + ty * p.wStride[3] + tx * p.wStride[4];
        for (int c = 0; c < p.groupInputs; ++c) {
          sum += (A)load<X>(p.x, from + c * p.xStride[1]) * (A)load<X>(p.w, weight + c * p.wStride[1]);
        }
      }
    }
  }
  i64 at[kOperands];
  offsetsOf<kOperands>(p, place, at);
  ((Y*)p.data[0])[at[0]] = finish(p, at, sum);
}
