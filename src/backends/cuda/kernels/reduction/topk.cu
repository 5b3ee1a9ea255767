// The k best of each line, best first. A block finds one after another, each the best of those behind the one before;
// or, for more than a few, the key of the last one digit by digit, and sorts what is not behind it. X, I: element types
// of values and indices; LARGEST: 1 or 0.
#include "backends/cuda/kernels/reduction/reduction_parameters.h"
#include "prelude.cuh"

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
__device__ bool before(const Entry& a, const Entry& b) {
  return a.key < b.key || (a.key == b.key && a.index < b.index);
}
__device__ Entry better(const Entry& a, const Entry& b) { return before(b, a) ? b : a; }

KERNEL_BOUNDED(__launch_bounds__(1024), tenon_topk, TopKParameters) {
  __shared__ Entry shared[32];
  i64 at[2];
  locate(p.lines, (unsigned)blockIdx.x, at);
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

__device__ void write(const TopKParameters& p, const i64* at, i64 place, i64 index) {
  ((X*)p.values)[at[0] + place * p.yStride] = ((const X*)p.x)[at[1] + index * p.xStride];
  ((I*)p.indices)[at[0] + place * p.yStride] = (I)index;
}

constexpr int kKeyBytes = sizeof(ComputeOf<X>) == 4 ? 4 : 8;
constexpr Key kKeyMask = kKeyBytes == 4 ? 0xffffffffull : ~0ull;
__device__ Key keyAt(const TopKParameters& p, const i64* at, i64 i) {
  const Key order = orderOf(load<X>(p.x, at[1] + i * p.xStride));
  return (LARGEST ? ~order : order) & kKeyMask;
}

// What the threads of a block share while they select.
struct Selection {
  unsigned histogram[256];
  unsigned ofWarps[32];
  unsigned digit, before;  // the digit of the last one, and how many keys are smaller
  unsigned count;          // of `chosen`
};

// Of the keys that begin with `prefix`, how many have each next digit; then which digit the `need`-th smallest has.
__device__ void findDigit(const TopKParameters& p, const i64* at, int byte, Key prefix, unsigned need, Selection& s) {
  for (int k = threadIdx.x; k < 256; k += blockDim.x) s.histogram[k] = 0;
  __syncthreads();
  for (i64 i = threadIdx.x; i < p.extent; i += blockDim.x) {
    const Key key = keyAt(p, at, i);
    const bool same = byte == kKeyBytes - 1 || ((key ^ prefix) >> (8 * byte + 8)) == 0;
    if (same) addShared(&s.histogram[key >> (8 * byte) & 255], 1);
  }
  __syncthreads();
  if (threadIdx.x < 32) {  // a lane adds eight digits up
    unsigned own = 0;
    for (int k = 0; k < 8; ++k) own += s.histogram[threadIdx.x * 8 + k];
    unsigned upTo = own;
    for (int delta = 1; delta < 32; delta *= 2) {
      const unsigned below = shuffleUp(upTo, delta);
      if ((int)threadIdx.x >= delta) upTo += below;
    }
    unsigned before = upTo - own;
    if (before < need && need <= upTo) {
      int digit = threadIdx.x * 8;
      while (before + s.histogram[digit] < need) before += s.histogram[digit++];
      s.digit = digit;
      s.before = before;
    }
  }
  __syncthreads();
}

// Appends the first `need` elements whose key is `last`, in the order of their indices.
__device__ void takeEqual(const TopKParameters& p, const i64* at, Key last, unsigned need, unsigned from, Selection& s,
                          Entry* chosen) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  unsigned taken = 0;
  for (i64 first = 0; first < p.extent && taken < need; first += blockDim.x) {
    const i64 i = first + threadIdx.x;
    const unsigned equal = i < p.extent && keyAt(p, at, i) == last ? 1 : 0;
    unsigned upTo = equal;
    for (int delta = 1; delta < 32; delta *= 2) {
      const unsigned below = shuffleUp(upTo, delta);
      if (lane >= delta) upTo += below;
    }
    if (lane == 31) s.ofWarps[warp] = upTo;
    __syncthreads();
    unsigned place = taken + upTo - equal;
    for (int k = 0; k < (int)blockDim.x / 32; ++k) {
      if (k < warp) place += s.ofWarps[k];
      taken += s.ofWarps[k];
    }
    if (equal && place < need) chosen[from + place] = {last, i};
    __syncthreads();  // ofWarps has been read
  }
}

KERNEL_BOUNDED(__launch_bounds__(1024), tenon_topk_select, TopKParameters) {
  __shared__ Selection s;
  __shared__ Entry chosen[kMostSelected];
  i64 at[2];
  locate(p.lines, (unsigned)blockIdx.x, at);
  Key prefix = 0;
  unsigned need = (unsigned)p.k;
  for (int byte = kKeyBytes - 1; byte >= 0; --byte) {
    findDigit(p, at, byte, prefix, need, s);
    prefix |= (Key)s.digit << (8 * byte);
    need -= s.before;
  }
  const unsigned smaller = (unsigned)p.k - need;
  if (threadIdx.x == 0) s.count = 0;
  __syncthreads();
  for (i64 i = threadIdx.x; i < p.extent; i += blockDim.x) {
    const Key key = keyAt(p, at, i);
    if (key < prefix) chosen[addShared(&s.count, 1)] = {key, i};
  }
  takeEqual(p, at, prefix, need, smaller, s, chosen);
  int width = 1;
  while (width < p.k) width *= 2;
  for (int k = (int)p.k + threadIdx.x; k < width; k += blockDim.x) chosen[k] = {~0ull, 9223372036854775807ll};
  // Bitonic: pairs at growing, then falling distances.
  for (int size = 2; size <= width; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int k = threadIdx.x; k < width; k += blockDim.x) {
        const int other = k ^ distance;
        if (other <= k) continue;
        const bool up = (k & size) == 0;
        const Entry a = chosen[k];
        const Entry b = chosen[other];
        if (before(b, a) == up) {
          chosen[k] = b;
          chosen[other] = a;
        }
      }
    }
  }
  __syncthreads();
  for (i64 place = threadIdx.x; place < p.k; place += blockDim.x) write(p, at, place, chosen[place].index);
}
