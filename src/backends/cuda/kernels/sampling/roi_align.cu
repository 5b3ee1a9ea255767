// Regions of maps sampled to a grid, a thread per cell and some channels. X: type of the maps; POOL: 0 mean, 1 the
// largest sample, 2 the largest weighted pixel; GRID: 0 bins, 1 corners, 2 pixels; BORDER: 0 clamp, 1 margin, 2 zero.
#include "backends/cuda/kernels/sampling/sampling_parameters.h"
#include "prelude.cuh"

struct Tap {
  i64 low, high;
  float part;
  bool inside;
};

struct Axis {
  float begin, step;
  i64 first, samples, pixels;
};

__device__ i64 toPixel(float place, i64 pixels) {
  const float limit = (float)pixels + 1.f;
  if (place != place) return (i64)limit;
  return (i64)fminf(fmaxf(place, -1.f), limit);
}

__device__ Axis axisOf(const RoiAlignParameters& p, float begin, float end, i64 cells, i64 cell, i64 pixels) {
  Axis axis;
  axis.begin = begin;
  axis.step = (end - begin) / (float)cells;
  axis.pixels = pixels;
  axis.first = 0;
  axis.samples = p.samples;
  if (GRID == 1) {
    axis.step = cells > 1 ? (end - begin) / (float)(cells - 1) : 0.f;
    if (cells == 1) axis.begin = 0.5f * (begin + end);
    axis.samples = 1;
  } else if (GRID == 2) {
    const i64 first = toPixel(floorf(begin + axis.step * (float)cell), pixels);
    const i64 last = toPixel(ceilf(begin + axis.step * (float)(cell + 1)), pixels);
    axis.first = first < 0 ? 0 : first;
    const i64 limit = last < pixels ? last : pixels;
    axis.samples = limit > axis.first ? limit - axis.first : 0;
  } else if (axis.samples == 0) {
    const float wanted = ceilf(axis.step);
    axis.samples = wanted > (float)p.least ? (i64)fminf(wanted, (float)p.mostSamples) : p.least;
  }
  return axis;
}

__device__ Tap tapOf(const RoiAlignParameters& p, const Axis& axis, i64 cell, i64 sample) {
  Tap tap = {axis.first + sample, axis.first + sample, 0.f, true};
  if (GRID == 2) return tap;
  float place = axis.begin + axis.step * (float)cell;
  if (GRID == 0) place += axis.step * ((float)sample + p.offset) / (float)axis.samples;
  const float last = (float)(axis.pixels - 1);
  const float margin = BORDER == 1 ? 1.f : 0.f;
  const bool inside = place >= -margin && place <= last + margin;
  if (axis.pixels == 0 || (!inside && BORDER != 0)) {
    tap = {0, 0, 0.f, false};
    return tap;
  }
  place = place != place ? 0.f : fminf(fmaxf(place, 0.f), last);
  tap.low = (i64)place;
  tap.high = tap.low + 1 < axis.pixels ? tap.low + 1 : axis.pixels - 1;
  tap.part = place - (float)tap.low;
  return tap;
}

// Four pixels of a plane and their weights.
struct Pixels {
  i64 place[4];
  float weight[4];
  bool inside;
};
__device__ Pixels pixelsOf(const Tap& y, const Tap& x, i64 columns) {
  return {{y.low * columns + x.low, y.low * columns + x.high, y.high * columns + x.low, y.high * columns + x.high},
          {(1.f - y.part) * (1.f - x.part), (1.f - y.part) * x.part, y.part * (1.f - x.part), y.part * x.part},
          y.inside && x.inside};
}

// Channels of a thread have samples in common.
struct Results {
  float sum[kRoiChannels] = {};
  float best[kRoiChannels];

  __device__ Results() {
#pragma unroll
    for (int c = 0; c < kRoiChannels; ++c) best[c] = -infinity();
  }
  __device__ void take(const void* map, i64 first, i64 plane, int channels, const Pixels& pixels) {
#pragma unroll
    for (int c = 0; c < kRoiChannels; ++c) {
      if (c >= channels) continue;
      float corners[4] = {0.f, 0.f, 0.f, 0.f};
      if (pixels.inside) {
#pragma unroll
        for (int k = 0; k < 4; ++k) corners[k] = load<X>(map, first + c * plane + pixels.place[k]) * pixels.weight[k];
      }
      const float value = corners[0] + corners[1] + corners[2] + corners[3];
      sum[c] += value;
      best[c] = fmaxf(best[c], POOL == 2 ? fmaxf(fmaxf(corners[0], corners[1]), fmaxf(corners[2], corners[3])) : value);
    }
  }
};

KERNEL(tenon_roi_align, RoiAlignParameters) {
  const i64 at = globalIndex();
  if (at >= p.threads) return;
  const i64 cells = p.width * p.height;
  const i64 j = at % cells % p.width;
  const i64 i = at % cells / p.width;
  const i64 groups = (p.channels + p.channelsOfThread - 1) / p.channelsOfThread;
  const i64 channel = at / cells % groups * p.channelsOfThread;
  const i64 region = at / cells / groups;
  const int channels = (int)min((i64)p.channelsOfThread, p.channels - channel);
  const i64 level = p.origins[region * 2];
  const i64 image = p.origins[region * 2 + 1];
  Results results;
  i64 count = 0;
  if (level >= 0 && level < p.mapCount && image >= 0 && image < p.images) {
    const float* const ends = p.regions + region * 4;
    const i64 columns = p.columns[level];
    const Axis vertical = axisOf(p, ends[0], ends[2], p.height, i, p.rows[level]);
    const Axis horizontal = axisOf(p, ends[1], ends[3], p.width, j, columns);
    const i64 plane = p.rows[level] * columns;
    count = vertical.samples * horizontal.samples;
    for (i64 a = 0; a < vertical.samples; ++a) {
      const Tap y = tapOf(p, vertical, i, a);
      for (i64 b = 0; b < horizontal.samples; ++b) {
        const Pixels pixels = pixelsOf(y, tapOf(p, horizontal, j, b), columns);
        results.take(p.maps[level], (image * p.channels + channel) * plane, plane, channels, pixels);
      }
    }
  }
#pragma unroll
  for (int c = 0; c < kRoiChannels; ++c) {
    if (c >= channels) continue;
    const float result = count == 0 ? 0.f : POOL == 0 ? results.sum[c] / (float)count : results.best[c];
    store<X>(p.y, ((region * p.channels + channel + c) * p.height + i) * p.width + j, result);
  }
}
