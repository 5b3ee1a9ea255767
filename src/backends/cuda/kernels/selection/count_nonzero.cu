// How many elements are not zero: blocks of elements, then all of them in one block.
#include "nonzero.cuh"

KERNEL(tenon_count_nonzero, NonZeroParameters) {
  __shared__ i64 shared[32];
  const i64 all = countUpTo(p, p.blocks, shared);
  if (threadIdx.x == 0) *(i64*)p.y = all;
}
