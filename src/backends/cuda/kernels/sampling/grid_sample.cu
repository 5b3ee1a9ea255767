// Pixels at the places of a grid. A thread computes where one place lies and takes kWidth neighbouring channels of it:
// one after the other where channels are planes, or as a pack where they stand side by side. X, G: types of the image
// and the grid; NEAREST; BORDER: 0 zero, 1 clamp, 2 reflect; ALIGN: whether -1 and 1 are middles of pixels.
#include "backends/cuda/kernels/sampling/sampling_parameters.h"
#include "prelude.cuh"

__device__ float mirrored(float pixel, float size) {
  const float low = ALIGN ? 0.f : -0.5f;
  const float span = ALIGN ? size - 1.f : size;
  if (!(span > 0.f)) return 0.f;
  const float distance = fabsf(pixel - low);
  const float turns = floorf(distance / span);
  const float rest = distance - turns * span;
  const bool isOdd = turns - floorf(turns * 0.5f) * 2.f > 0.5f;
  return fminf(fmaxf((isOdd ? span - rest : rest) + low, -0.5f), size - 0.5f);
}

struct Taps {
  int pixel[2];
  float weight[2];

  __device__ Taps(float place, int extent) {
    const float size = (float)extent;
    float at = ALIGN ? (place + 1.f) * ((size - 1.f) * 0.5f) : ((place + 1.f) * size - 1.f) * 0.5f;
    if (BORDER == 2) at = mirrored(at, size);
    if (BORDER == 1) at = fminf(fmaxf(at, 0.f), size - 1.f);
    const float first = NEAREST ? rintf(at) : floorf(at);
    const float part = NEAREST ? 0.f : at - first;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const float here = first + (float)k;
      const bool inside = here >= 0.f && here <= size - 1.f;  // false for NaN
      pixel[k] = (int)fminf(fmaxf(here, 0.f), size - 1.f);
      const bool counts = extent > 0 && (BORDER != 0 || inside);
      weight[k] = !counts ? 0.f : k == 0 ? 1.f - part : part;
    }
  }
};

// Where the four pixels of a place are in a plane, and what they weigh.
struct Corners {
  i64 at[4];
  float weight[4];

  __device__ Corners(const GridSampleParameters& p, i64 place) {
    const Taps across(load<G>(p.grid, place * 2), p.columns);
    const Taps down(load<G>(p.grid, place * 2 + 1), p.rows);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      at[k] = down.pixel[k / 2] * p.rowStride + across.pixel[k % 2] * p.columnStride;
      weight[k] = down.weight[k / 2] * across.weight[k % 2];
    }
  }
};

KERNEL(tenon_grid_sample, GridSampleParameters) {
  i64 rest = globalIndex();
  if (rest >= p.threads) return;
  const i64 place = takeIndex(rest, p.places);
  const i64 group = takeIndex(rest, p.groups);
  const i64 image = rest;
  const Corners corners(p, image * p.places + place);
  const i64 end = group * kGridChannels + kGridChannels;
  for (i64 c = group * kGridChannels; c < (end < p.channels ? end : p.channels); ++c) {
    const i64 from = image * p.imageStride + c * p.channelStride;
    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {  // a pixel that weighs nothing may be an infinity
      if (corners.weight[k] != 0.f) sum += corners.weight[k] * load<X>(p.x, from + corners.at[k]);
    }
    store<X>(p.y, image * p.yImage + c * p.yChannel + place * p.yPlace, sum);
  }
}

// Channels side by side in the image and in the result, packs of them.
KERNEL(tenon_grid_sample_packed, GridSampleParameters) {
  constexpr int kWidth = 16 / sizeof(X);
  typedef Pack<X, kWidth> Packed;
  i64 rest = globalIndex();
  if (rest >= p.threads) return;
  const i64 first = takeIndex(rest, p.groups) * kWidth;
  const i64 place = takeIndex(rest, p.places);
  const i64 image = rest;
  const Corners corners(p, image * p.places + place);
  float sum[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) sum[j] = 0.f;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (corners.weight[k] == 0.f) continue;
    const Packed pixel = *(const Packed*)((const X*)p.x + image * p.imageStride + corners.at[k] + first);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) sum[j] += corners.weight[k] * Element<X>::load(pixel.e[j]);
  }
  Packed result;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) result.e[j] = Element<X>::store(sum[j]);
  *(Packed*)((X*)p.y + image * p.yImage + place * p.yPlace + first) = result;
}
