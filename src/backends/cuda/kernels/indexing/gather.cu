// Gather: elements selected by indices. I: type of the indices. Rows of `inner` units of 1 to 16 bytes move at once; an
// index outside its axis gives zeros.
#include "index.cuh"

struct Parameters {
  const void* data;
  const void* indices;
  void* y;
  i64 count;                 // units of the result
  i64 inner;                 // units of a row
  i64 picks, outer, extent;  // of mode default; of nd: picks of one batch
  i64 batchSize;             // nd: rows of one batch
  int length;                // nd: axes that an index names
  i64 axisExtent[8];         // nd
  i64 axisRows[8];           // nd: rows that a step along the axis skips
};

template <typename T, typename Index>
__device__ void gatherRows(const Parameters& p) {
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
__device__ void gatherNd(const Parameters& p) {
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
struct ElementParameters {
  const void* data;
  const void* indices;
  void* y;
  i64 extent, axisStride;
  Space<2> space;  // result (and indices), data with the axis standing still
};
template <typename T>
__device__ void gatherElements(const ElementParameters& p) {
  const i64 i = globalIndex();
  if (i >= p.space.count) return;
  i64 at[2];
  p.space.locate((unsigned)i, at);
  i64 index = load<I>(p.indices, at[0]);
  T value = {};
  if (inside(index, p.extent)) value = ((const T*)p.data)[at[1] + index * p.axisStride];
  ((T*)p.y)[at[0]] = value;
}

#define GATHER(bytes, T)                                                     \
  KERNEL(tenon_gather_##bytes, Parameters) { gatherRows<T, unsigned>(p); }   \
  KERNEL(tenon_gather_##bytes##_wide, Parameters) { gatherRows<T, i64>(p); } \
  KERNEL(tenon_gather_nd_##bytes, Parameters) { gatherNd<T>(p); }            \
  KERNEL(tenon_gather_element_##bytes, ElementParameters) { gatherElements<T>(p); }
GATHER(1, unsigned char)
GATHER(2, unsigned short)
GATHER(4, unsigned)
GATHER(8, uint2)
GATHER(16, uint4)
