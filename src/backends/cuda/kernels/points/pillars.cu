// The points of a cloud grouped by the cells of a grid: sorted by cell, then by their order; cells in the order of
// their first points. In double, as the reference.
#include "backends/cuda/kernels/points/pillars_parameters.h"
#include "key_sort.cuh"
#include "ordered.cuh"

constexpr unsigned kNoHead = ~0u;

__device__ double coordinate(const PillarsParameters& p, i64 cloud, i64 point, int axis) {
  return p.points[(cloud * p.most + point) * p.numbers + axis];
}

KERNEL(tenon_pillars_keys, PillarsParameters) {
  const i64 at = globalIndex();
  if (at >= p.clouds * p.most) return;
  const i64 cloud = at / p.most;
  const i64 point = at - cloud * p.most;
  bool inside = point < p.counts[cloud];
  for (int axis = 0; axis < 3; ++axis) {
    const double place = coordinate(p, cloud, point, axis);
    inside = inside && place >= p.range[axis] && place < p.range[axis + 3];
  }
  Key key = kNoKey;
  if (inside) {
    const i64 column = (i64)floor((coordinate(p, cloud, point, 0) - p.range[0]) / p.size[0]);
    const i64 row = (i64)floor((coordinate(p, cloud, point, 1) - p.range[1]) / p.size[1]);
    key = (Key)(row * p.columns + column) << 32 | (Key)point;
  }
  p.keys[cloud * p.capacity + point] = key;
}

KERNEL(tenon_pillars_heads, PillarsParameters) {
  const i64 at = globalIndex();
  if (at >= p.clouds * p.most) return;
  const i64 cloud = at / p.most;
  const i64 position = at - cloud * p.most;
  const Key* const keys = (const Key*)p.keys + cloud * p.capacity;
  const Key key = keys[position];
  if (key == kNoKey || (position > 0 && keys[position - 1] >> 32 == key >> 32)) return;
  p.heads[cloud * p.most + (i64)(key & 0xffffffffu)] = (unsigned)position;
}

// A block for each cloud.
KERNEL(tenon_pillars_number, PillarsParameters) {
  __shared__ unsigned ofWarps[32];
  const i64 cloud = blockIdx.x;
  i64 found = 0;
  for (i64 first = 0; first < p.most && found < p.pillars; first += kNumberThreads) {
    const i64 point = first + threadIdx.x;
    const unsigned head = point < p.most ? p.heads[cloud * p.most + point] : kNoHead;
    unsigned total = 0;
    const i64 pillar = found + placeAmong(head != kNoHead, ofWarps, total);
    if (head != kNoHead && pillar < p.pillars) p.starts[cloud * p.pillars + pillar] = head;
    found += total;
  }
  if (threadIdx.x == 0) p.written[cloud] = (i32)(found < p.pillars ? found : p.pillars);
}

// A block for each pillar.
KERNEL(tenon_pillars, PillarsParameters) {
  __shared__ double mean[3];
  __shared__ i64 count;
  const i64 pillar = blockIdx.x;
  const i64 cloud = pillar / p.pillars;
  float* const features = p.features + pillar * p.perPillar * p.width;
  int32_t* const cell = p.cells + pillar * 4;
  if (pillar - cloud * p.pillars >= p.written[cloud]) {
    if (threadIdx.x < 4) cell[threadIdx.x] = 0;
    for (i64 k = threadIdx.x; k < p.perPillar * p.width; k += kPillarThreads) features[k] = 0.f;
    return;
  }
  const i64 start = p.starts[pillar];
  const Key* const keys = (const Key*)p.keys + cloud * p.capacity + start;
  const Key place = keys[0] >> 32;
  const i64 row = (i64)place / p.columns;
  const i64 column = (i64)place % p.columns;
  if (threadIdx.x < 3) {
    double sum = 0;
    i64 many = 0;
    for (; many < p.perPillar && start + many < p.most && keys[many] >> 32 == place; ++many)
      sum += coordinate(p, cloud, (i64)(keys[many] & 0xffffffffu), threadIdx.x);
    mean[threadIdx.x] = sum / (double)many;
    if (threadIdx.x == 0) count = many;
  }
  if (threadIdx.x < 4) cell[threadIdx.x] = threadIdx.x < 2 ? 0 : (i32)(threadIdx.x == 2 ? row : column);
  __syncthreads();
  const double middle[3] = {p.range[0] + product((double)column + 0.5, p.size[0]),
                            p.range[1] + product((double)row + 0.5, p.size[1]), p.range[2] + product(0.5, p.size[2])};
  for (i64 k = threadIdx.x; k < p.perPillar * p.width; k += kPillarThreads) {
    const i64 own = k / p.width;
    const int feature = (int)(k - own * p.width);
    double value = 0;
    if (own < count) {
      const i64 point = (i64)(keys[own] & 0xffffffffu);
      const int axis = (int)(feature - p.numbers);
      value = coordinate(p, cloud, point, axis < 0 ? feature : axis % 3);
      if (axis >= 0) value -= axis < 3 ? mean[axis] : middle[axis - 3];
    }
    features[k] = (float)value;
  }
}
