// Tensors linear in the index. Y: element type; GIVEN: start and deltas come from tensors.
#include "backends/cuda/kernels/movement/movement_parameters.h"
#include "prelude.cuh"

KERNEL(tenon_fill, FillParameters) {
  typedef ComputeOf<Y> C;
  const bool floating = C(0.5f) != C(0);
  const i64 index = globalIndex();
  if (index >= p.count) return;
  double value = GIVEN ? (double)load<Y>(p.start, 0) : p.real[kMaxAxes];
  unsigned long long integer = GIVEN ? (i64)load<Y>(p.start, 0) : p.integer[kMaxAxes];
  i64 rest = index;
  for (int axis = p.rank - 1; axis >= 0; --axis) {
    const i64 i = takeIndex(rest, p.extent[axis]);
    if (i == 0) continue;  // an infinite step is no NaN at index 0
    if (GIVEN) {
      if (p.deltas == nullptr) continue;
      if (floating) value += (double)load<Y>(p.deltas, axis) * i;
      else integer += (unsigned long long)load<Y>(p.deltas, axis) * i;
    } else {
      value += p.real[axis] * i;
      integer += (unsigned long long)p.integer[axis] * i;
    }
  }
  if (floating) storeReal<Y>(p.y, index, (float)value);
  else store<Y>(p.y, index, (C)(i64)integer);
}
