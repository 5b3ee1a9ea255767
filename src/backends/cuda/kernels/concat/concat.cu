// Concatenations as they are.
#include "concat.cuh"

struct Unchanged {
  template <typename T>
  __device__ T operator()(T value, i64) const {
    return value;
  }
};

#define CONCAT(bytes, T) \
  KERNEL(tenon_concat_##bytes, ConcatParameters) { copyParts<T>(p, Unchanged{}); }
CONCAT(1, unsigned char)
CONCAT(2, unsigned short)
CONCAT(4, unsigned)
CONCAT(8, uint2)
CONCAT(16, uint4)
