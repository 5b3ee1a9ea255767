// New rows of a cache, over a copy of it or in place. I: type of the write indices. Rows move in units of 1 to 16
// bytes; rows outside of the cache are left out.
#include "backends/cuda/kernels/indexing/indexing_parameters.h"
#include "index.cuh"

template <typename T>
__device__ void updateRows(const CacheUpdateParameters& p) {
  const i64 at = globalIndex();
  if (at >= p.count) return;
  const i64 row = at / p.inner;
  const i64 head = row / p.rows;
  const i64 start = load<I>(p.start, head / p.heads);
  const i64 within = row - head * p.rows;
  if (start < -within || start >= p.capacity - within) return;
  ((T*)p.y)[(head * p.capacity + start + within) * p.inner + (at - row * p.inner)] = ((const T*)p.update)[at];
}

#define CACHE_UPDATE(bytes, T) \
  KERNEL(tenon_cache_update_##bytes, CacheUpdateParameters) { updateRows<T>(p); }
CACHE_UPDATE(1, unsigned char)
CACHE_UPDATE(2, unsigned short)
CACHE_UPDATE(4, unsigned)
CACHE_UPDATE(8, uint2)
CACHE_UPDATE(16, uint4)
