// Local response normalization across channels, a thread per element. X: element type.
#include "backends/cuda/kernels/normalization/normalization_parameters.h"
#include "prelude.cuh"

KERNEL(tenon_lrn, LrnParameters) {
  const i64 at = globalIndex();
  if (at >= p.count) return;
  i64 rest = at;
  takeIndex(rest, p.channelStride);
  const i64 c = takeIndex(rest, p.channels);
  const i64 first = c - p.below < 0 ? 0 : c - p.below;
  const i64 last = c + p.above < p.channels ? c + p.above : p.channels - 1;
  float sum = 0;
  for (i64 other = first; other <= last; ++other) {
    const float value = load<X>(p.x, at + (other - c) * p.channelStride);
    sum += value * value;
  }
  store<X>(p.y, at, load<X>(p.x, at) / powf(p.k + p.factor * sum, p.beta));
}
