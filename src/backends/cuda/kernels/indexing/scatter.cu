// Scatter: elements replaced at indices, in a copy of the data. I: type of the indices. Rows of `inner` units of 1 to
// 16 bytes move at once; an index outside its axis writes nothing.
#include "backends/cuda/kernels/indexing/indexing_parameters.h"
#include "index.cuh"

template <typename T>
__device__ void scatterRows(const ScatterParameters& p) {
  const i64 at = globalIndex();
  if (at >= p.count) return;
  const i64 row = at / p.inner;
  const i64 unit = at - row * p.inner;
  i64 to = 0;
  for (int k = 0; k < p.length; ++k) {
    i64 index = load<I>(p.indices, row * p.length + k);
    if (!inside(index, p.axisExtent[k])) return;
    to += index * p.axisRows[k];
  }
  ((T*)p.y)[to * p.inner + unit] = ((const T*)p.updates)[at];
}

// Mode element: updates have the shape of the indices.
template <typename T>
__device__ void scatterElements(const IndexedElementParameters& p) {
  const i64 i = globalIndex();
  if (i >= p.space.count) return;
  i64 at[2];
  locate(p.space, (unsigned)i, at);
  i64 index = load<I>(p.indices, at[0]);
  if (inside(index, p.extent)) ((T*)p.data)[at[1] + index * p.axisStride] = ((const T*)p.elements)[at[0]];
}

#define SCATTER(bytes, T)                                                 \
  KERNEL(tenon_scatter_##bytes, ScatterParameters) { scatterRows<T>(p); } \
  KERNEL(tenon_scatter_element_##bytes, IndexedElementParameters) { scatterElements<T>(p); }
SCATTER(1, unsigned char)
SCATTER(2, unsigned short)
SCATTER(4, unsigned)
SCATTER(8, uint2)
SCATTER(16, uint4)
