// Generic deconvolution: a thread per element of the result.
#pragma once

#include "contraction.cuh"

// The place on the small side that meets `large` under tap t, or -1.
__device__ inline int meeting(const DirectWindow& w, int large, int t) {
  const int shifted = large + w.before - t * w.dilation;
  if (shifted < 0 || shifted % w.stride != 0) return -1;
  const int small = shifted / w.stride;
  return small < w.small ? small : -1;
}

template <int kOperands, typename Y, typename Finish>
__device__ inline void deconvolve(const WindowParameters& p, Finish finish) {
  const i64 index = globalIndex();
  if (index >= p.count) return;
  const int extent[3] = {p.window[0].large, p.window[1].large, p.window[2].large};
  const Place place = placeOf(p, index, extent);
  A sum = p.bias != nullptr ? (A)load<X>(p.bias, place.channel) : A(0);
  const int group = place.channel / p.groupOutputs;
  const i64 xBase = place.n * p.xStride[0] + (i64)group * p.groupInputs * p.xStride[1];
  const i64 wBase = (i64)group * p.groupInputs * p.wStride[0] + place.channel % p.groupOutputs * p.wStride[1];
  for (int tz = 0; tz < p.window[0].kernel; ++tz) {
    const int z = meeting(p.window[0], place.s[0], tz);
    if (z < 0) continue;
    for (int ty = 0; ty < p.window[1].kernel; ++ty) {
      const int y = meeting(p.window[1], place.s[1], ty);
      if (y < 0) continue;
      for (int tx = 0; tx < p.window[2].kernel; ++tx) {
        const int x = meeting(p.window[2], place.s[2], tx);
        if (x < 0) continue;
        const i64 from = xBase + z * p.xStride[2] + y * p.xStride[3] + x * p.xStride[4];
        const i64 weight = wBase + tz * p.wStride[2] + ty * p.wStride[3] + tx * p.wStride[4];
        for (int c = 0; c < p.groupInputs; ++c) {
          sum += (A)load<X>(p.x, from + c * p.xStride[1]) * (A)load<X>(p.w, weight + c * p.wStride[0]);
        }
      }
    }
  }
  i64 at[kOperands];
  offsetsOf<kOperands>(p, place, at);
  ((Y*)p.data[0])[at[0]] = finish(p, at, sum);
}
