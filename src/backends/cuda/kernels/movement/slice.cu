// Slices in the modes clamp, wrap and reflect, in elements of one to sixteen bytes. MODE: 0 clamp, 1 wrap, 2
// reflect.
#include "backends/cuda/kernels/movement/movement_parameters.h"
#include "prelude.cuh"

__device__ i64 floorModulo(i64 a, i64 b) {
  const i64 m = a % b;
  return m < 0 ? m + b : m;
}
__device__ i64 locateInput(i64 i, i64 n) {
  if (i >= 0 && i < n) return i;
  if (MODE == 0) return i < 0 ? 0 : n - 1;
  if (MODE == 1) return floorModulo(i, n);
  if (n == 1) return 0;
  const i64 folded = floorModulo(i, 2 * (n - 1));
  return folded < n ? folded : 2 * (n - 1) - folded;
}

template <typename E>
__device__ void sliceAround(const SliceAroundParameters& p) {
  i64 rest = globalIndex();
  if (rest >= p.count) return;
  i64 from = 0;
  i64 to = 0;
  for (int axis = p.rank - 1; axis >= 0; --axis) {
    const i64 i = takeIndex(rest, p.extent[axis]);
    to += i * p.yStride[axis];
    from += locateInput(p.start[axis] + i * p.step[axis], p.n[axis]) * p.xStride[axis];
  }
  ((E*)p.y)[to] = ((const E*)p.x)[from];
}

#define SLICE(bytes, E) \
  KERNEL(tenon_slice_##bytes, SliceAroundParameters) { sliceAround<E>(p); }
SLICE(1, unsigned char)
SLICE(2, unsigned short)
SLICE(4, unsigned)
SLICE(8, uint2)
SLICE(16, uint4)
