// Gather: elements selected by indices. I: type of the indices. Rows of `inner` units of 1 to 16 bytes move at once; an
// index outside its axis gives zeros.
#include "backends/cuda/kernels/indexing/indexing_parameters.h"
#include "index.cuh"

template <typename T, typename Index>
__device__ void gatherRows(const GatherParameters& p) {
  const i64 at = globalIndex();
  if (at >= p.count) return;
  const Index row = (Index)at / (Index)p.inner;
  const Index unit = (Index)at - row * (Index)p.inner;
  const Index pick = row % (Index)p.picks;
  const Index rest = row / (Index)p.picks;  // batch * outer + o
  const Index batch = rest / (Index)p.outer;
  i64 index = load<I>(p.indices, (i64)batch * p.picks + pick);
  T value = {};
  if (inside(index, p.extent)) value = ((const T*)p.data)[((i64)rest * p.extent + index) * p.inner + unit];
  ((T*)p.y)[at] = value;
}

template <typename T>
__device__ void gatherNd(const GatherParameters& p) {
  const i64 at = globalIndex();
  if (at >= p.count) return;
  const i64 row = at / p.inner;
  const i64 unit = at - row * p.inner;
  i64 from = row / p.picks * p.batchSize;
  bool good = true;
  for (int k = 0; k < p.length; ++k) {
    i64 index = load<I>(p.indices, row * p.length + k);
    good = inside(index, p.axisExtent[k]) && good;
    from += index * p.axisRows[k];
  }
  T value = {};
  if (good) value = ((const T*)p.data)[from * p.inner + unit];
  ((T*)p.y)[at] = value;
}

// Mode element: the result has the shape of the indices.
template <typename T>
__device__ void gatherElements(const IndexedElementParameters& p) {
  const i64 i = globalIndex();
  if (i >= p.space.count) return;
  i64 at[2];
  locate(p.space, (unsigned)i, at);
  i64 index = load<I>(p.indices, at[0]);
  T value = {};
  if (inside(index, p.extent)) value = ((const T*)p.data)[at[1] + index * p.axisStride];
  ((T*)p.elements)[at[0]] = value;
}

#define GATHER(bytes, T)                                                           \
  KERNEL(tenon_gather_##bytes, GatherParameters) { gatherRows<T, unsigned>(p); }   \
  KERNEL(tenon_gather_##bytes##_wide, GatherParameters) { gatherRows<T, i64>(p); } \
  KERNEL(tenon_gather_nd_##bytes, GatherParameters) { gatherNd<T>(p); }            \
  KERNEL(tenon_gather_element_##bytes, IndexedElementParameters) { gatherElements<T>(p); }
GATHER(1, unsigned char)
GATHER(2, unsigned short)
GATHER(4, unsigned)
GATHER(8, uint2)
GATHER(16, uint4)
