// The k best of each line, best first: a block finds one after another, each the best of those behind the one before.
// X, I: element types of values and indices; LARGEST: 1 or 0.
#include "prelude.cuh"

struct Parameters {
  const void* x;
  void* values;
  void* indices;
  i64 extent, k;
  i64 xStride, yStride;  // along the axis
  Space<2> lines;        // y, x
};

// Keys in the order of the operator: smaller is better. NaN counts as larger than every number, 0 and -0 are equal.
typedef unsigned long long Key;
__device__ Key orderOf(i64 v) { return (Key)v ^ 0x8000000000000000ull; }
__device__ Key orderOf(float v) {
  if (v != v) return 0xffffffffull;
  if (v == 0.f) v = 0.f;
  const unsigned bits = (unsigned)__float_as_int(v);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
struct Entry {
  Key key;
  i64 index;
};
__device__ bool before(const Entry& a, const Entry& b) { return a.key < b.key || (a.key == b.key && a.index < b.index); }
__device__ Entry better(const Entry& a, const Entry& b) { return before(b, a) ? b : a; }

KERNEL_1024(tenon_topk, Parameters) {
  __shared__ Entry shared[32];
  i64 at[2];
  p.lines.locate((unsigned)blockIdx.x, at);
  const Entry none = {~0ull, 9223372036854775807ll};
  Entry last = {0, -1};  // before every other
  for (i64 place = 0; place < p.k; ++place) {
    Entry best = none;
    for (i64 i = threadIdx.x; i < p.extent; i += blockDim.x) {
      const Key order = orderOf(load<X>(p.x, at[1] + i * p.xStride));
      const Entry entry = {LARGEST ? ~order : order, i};
      if (before(last, entry)) best = better(best, entry);
    }
    for (int mask = 16; mask > 0; mask /= 2) {
      const Entry other = {shuffleXor(best.key, mask), shuffleXor(best.index, mask)};
      best = better(best, other);
    }
    __syncthreads();  // all have read what the place before left
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = best;
    __syncthreads();
    best = shared[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; ++warp) best = better(best, shared[warp]);
    last = best;
    if (threadIdx.x == 0) {
      ((X*)p.values)[at[0] + place * p.yStride] = ((const X*)p.x)[at[1] + best.index * p.xStride];
      ((I*)p.indices)[at[0] + place * p.yStride] = (I)best.index;
    }
  }
}
