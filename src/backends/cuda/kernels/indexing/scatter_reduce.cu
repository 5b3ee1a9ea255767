// Elements combined with others at indices, one after the other in the order of the updates: these are sorted by the
// element that they go to, and a thread takes all of one. X: element type; I: type of the indices; JOIN: 0 sum,
// 1 product, 2 maximum, 3 minimum. An index outside its axis changes nothing.
#include "backends/cuda/kernels/indexing/indexing_parameters.h"
#include "index.cuh"
#include "key_sort.cuh"

__device__ double combined(double a, double b) {
  if (JOIN == 0) return a + b;
  if (JOIN == 1) return a * b;
  if (a != a) return a;
  return JOIN == 2 ? (a > b ? a : b) : (a < b ? a : b);
}
__device__ i64 combined(i64 a, i64 b) {  // wraps
  if (JOIN == 0) return (i64)((uint64_t)a + (uint64_t)b);
  if (JOIN == 1) return (i64)((uint64_t)a * (uint64_t)b);
  return JOIN == 2 ? (a > b ? a : b) : (a < b ? a : b);
}
template <typename C>
struct SumOf {
  typedef C Type;
};
template <>
struct SumOf<float> {
  typedef double Type;
};

KERNEL(tenon_scatter_reduce_keys, ScatterReduceParameters) {
  const i64 i = globalIndex();
  if (i >= p.count) return;
  i64 at[2];
  locate(p.space, (unsigned)i, at);
  i64 index = load<I>(p.indices, at[0]);
  p.keys[i] = inside(index, p.extent) ? (Key)(at[1] + index * p.axisStride) << 32 | (Key)at[0] : kNoKey;
}

KERNEL(tenon_scatter_reduce, ScatterReduceParameters) {
  const i64 first = globalIndex();
  if (first >= p.count) return;
  const Key key = p.keys[first];
  const Key element = key >> 32;
  if (key == kNoKey || (first > 0 && p.keys[first - 1] >> 32 == element)) return;
  typedef typename SumOf<ComputeOf<X>>::Type Sum;
  Sum value = load<X>(p.data, (i64)element);
  for (i64 k = first; k < p.count && p.keys[k] >> 32 == element; ++k)
    value = combined(value, (Sum)load<X>(p.updates, (i64)(p.keys[k] & 0xffffffffu)));
  store<X>(p.y, (i64)element, (ComputeOf<X>)value);
}
