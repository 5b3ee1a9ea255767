// How far two tensors lie apart: each block says so of a run of elements, in an order that does not depend on others.
#include "backends/cuda/kernels/distance/distance_parameters.h"
#include "prelude.cuh"

__device__ inline void join(DistancePart& part, const DistancePart& other) {
  part.squares += other.squares;
  part.difference += other.difference;
  part.gain += other.gain;
  if (other.excess > part.excess) part.excess = other.excess;
  if (other.worst > part.worst || (other.worst == part.worst && other.at < part.at)) {
    part.worst = other.worst;
    part.at = other.at;
  }
  part.differing += other.differing;
}

KERNEL(tenon_distance, DistanceParameters) {
  __shared__ DistancePart parts[kDistanceThreads];
  const double kInfinity = infinity();
  const i64 first = (i64)blockIdx.x * p.run;
  const i64 last = first + p.run < p.count ? first + p.run : p.count;
  DistancePart part = {0, 0, 0, 0, -1, p.count, 0};
  for (i64 i = first + threadIdx.x; i < last; i += kDistanceThreads) {
    const ComputeOf<T> mine = load<T>(p.got, i);
    const ComputeOf<T> wanted = load<T>(p.expected, i);
    const double a = (double)mine, b = (double)wanted;
    const double size = fabs(b);
    if (size < kInfinity) part.squares += b * b;
    if (mine == wanted || (a != a && b != b) || (size == kInfinity && !p.infinities)) continue;
    if (fabs(a) == kInfinity && size > p.largest) continue;
    const bool finite = fabs(a) < kInfinity && size < kInfinity;
    const double d = finite ? fabs(a - b) : kInfinity;
    join(part, {0, d * d, finite ? (a - b) * b : 0, finite ? d - p.factor * size : kInfinity, d, i, 1});
  }
  parts[threadIdx.x] = part;
  for (int others = kDistanceThreads / 2; others > 0; others /= 2) {
    __syncthreads();
    if (threadIdx.x < others) join(parts[threadIdx.x], parts[threadIdx.x + others]);
  }
  if (threadIdx.x == 0) p.parts[blockIdx.x] = parts[0];
}
