// The k best of each line, best first, in three ways: a thread walks along its line and keeps a few; a block chooses
// the k best of a chunk, and of the chosen ones again, until they are of one chunk, which it sorts; all are sorted. X,
// I: element types of values and indices; LARGEST: 1 or 0.
#include "backends/cuda/kernels/reduction/topk_parameters.h"
#include "key_sort.cuh"
#include "prelude.cuh"
#include "warp_sum.cuh"

// Values in the order of the operator: smaller is better. NaN counts as larger than every number, 0 and -0 are equal.
template <typename Compute, bool kIsWide>
struct OrderOf {  // integers of 32 bits at most
  typedef unsigned Order;
  __device__ static Order of(i64 v) { return (unsigned)(int)v ^ 0x80000000u; }
};
template <>
struct OrderOf<i64, true> {
  typedef unsigned long long Order;
  __device__ static Order of(i64 v) { return (Order)v ^ 0x8000000000000000ull; }
};
template <>
struct OrderOf<float, false> {
  typedef unsigned Order;
  __device__ static Order of(float v) {
    if (v != v) return 0xffffffffu;
    if (v == 0.f) v = 0.f;
    const unsigned bits = (unsigned)__float_as_int(v);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  }
};
constexpr bool kIsWide = sizeof(X) == 8;
typedef OrderOf<ComputeOf<X>, kIsWide> Orders;
typedef Orders::Order Order;

struct Entry {
  Order order;
  unsigned index;
};
constexpr unsigned kNoIndex = ~0u;  // of an entry behind all others
__device__ inline bool before(const Entry& a, const Entry& b) {
  return a.order < b.order || (a.order == b.order && a.index < b.index);
}
__device__ inline Entry noEntry() { return {~(Order)0, kNoIndex}; }
__device__ inline Order orderAt(const TopKParameters& p, const i64* at, i64 i) {
  const Order order = Orders::of(load<X>(p.x, at[1] + i * p.xStride));
  return LARGEST ? ~order : order;
}
__device__ inline void write(const TopKParameters& p, const i64* at, i64 place, i64 index) {
  ((X*)p.values)[at[0] + place * p.yStride] = ((const X*)p.x)[at[1] + index * p.xStride];
  ((I*)p.indices)[at[0] + place * p.yStride] = (I)index;
}

// A thread for each line, which keeps the kBest best so far in order.
template <int kBest>
__device__ inline void walk(const TopKParameters& p) {
  const i64 line = globalIndex();
  if (line >= p.lines.count) return;
  i64 at[2];
  locate(p.lines, (unsigned)line, at);
  Entry best[kBest];
#pragma unroll
  for (int k = 0; k < kBest; ++k) best[k] = noEntry();
#pragma unroll 4
  for (i64 i = 0; i < p.extent; ++i) {
    Entry next = {orderAt(p, at, i), (unsigned)i};
    if (!before(next, best[kBest - 1])) continue;
#pragma unroll
    for (int k = 0; k < kBest; ++k) {
      const Entry kept = best[k];
      const bool is = before(next, kept);
      best[k] = is ? next : kept;
      next = is ? kept : next;
    }
  }
#pragma unroll
  for (int k = 0; k < kBest; ++k) {
    if (k < p.k) write(p, at, k, best[k].index);
  }
}
KERNEL(tenon_topk_walk_one, TopKParameters) { walk<1>(p); }
KERNEL(tenon_topk_walk_few, TopKParameters) { walk<kMostOfThread>(p); }

// What the threads of a block share while they select.
struct Selection {
  unsigned parts[2][32];
  Order orders[32];
  unsigned taken;
};

// How many all threads have. `turn` alternates, so that one barrier does.
__device__ inline unsigned countOfBlock(unsigned own, Selection& s, int& turn) {
  own = sumOfWarp(own);
  const int warps = blockDim.x / 32;
  if (warps == 1) return own;
  const int lane = threadIdx.x % 32;
  unsigned* const parts = s.parts[turn];
  turn ^= 1;
  if (lane == 0) parts[threadIdx.x / 32] = own;
  __syncthreads();
  return sumOfWarp(lane < warps ? parts[lane] : 0);
}

// The least value of `low` .. `high` up to which there are `wanted` or more; `count` counts those up to a value.
template <typename T, typename Count>
__device__ inline T boundOf(T low, T high, unsigned wanted, Count count) {
  while (low < high) {
    const T middle = low + (high - low) / 2;
    const unsigned there = count(middle);
    if (there == wanted) return middle;
    if (there > wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}

struct Least {
  __device__ Order operator()(Order a, Order b) const { return b < a ? b : a; }
};
struct Most {
  __device__ Order operator()(Order a, Order b) const { return b > a ? b : a; }
};

// The entry up to which `wanted` of the block's entries are, in the order of all. There are as many.
__device__ inline Entry limitOf(const TopKParameters& p, const Entry (&own)[kTopKItems], unsigned wanted,
                                Selection& s) {
  Order least = own[0].order;
  Order most = own[0].order;
#pragma unroll
  for (int k = 1; k < kTopKItems; ++k) {
    least = Least()(least, own[k].order);
    most = Most()(most, own[k].order);
  }
  // Each of so many warps or threads has one that is no larger than the largest of their least.
  const Order leastOfWarp = warpReduce(least, Least());
  const Order low = blockReduce(leastOfWarp, Least(), s.orders);
  const Order upTo = wanted <= blockDim.x / 32 ? leastOfWarp : wanted <= blockDim.x ? least : most;
  const Order high = blockReduce(upTo, Most(), s.orders);
  int turn = 0;
  const auto upToOrder = [&](Order order) {
    unsigned count = 0;
#pragma unroll
    for (int k = 0; k < kTopKItems; ++k) count += own[k].order <= order ? 1 : 0;
    return countOfBlock(count, s, turn);
  };
  const Order order = boundOf<Order>(low, high, wanted, upToOrder);
  const unsigned reached = upToOrder(order);
  if (reached == wanted) return {order, kNoIndex - 1};
  // Of equal ones the first.
  const unsigned smaller = order == 0 ? 0 : upToOrder(order - 1);
  const unsigned index = boundOf<unsigned>(0, (unsigned)(p.extent - 1), wanted - smaller, [&](unsigned last) {
    unsigned count = 0;
#pragma unroll
    for (int k = 0; k < kTopKItems; ++k) count += own[k].order == order && own[k].index <= last ? 1 : 0;
    return countOfBlock(count, s, turn);
  });
  return {order, index};
}

// Pairs at growing, then falling distances.
__device__ inline void sortEntries(Entry* entries, int count) {
  int width = 1;
  while (width < count) width *= 2;
  for (int k = count + threadIdx.x; k < width; k += blockDim.x) entries[k] = noEntry();
  for (int size = 2; size <= width; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int t = threadIdx.x; t < width / 2; t += blockDim.x) {
        const int k = 2 * (t & ~(distance - 1)) + (t & (distance - 1));
        const Entry a = entries[k];
        const Entry b = entries[k + distance];
        if (before(b, a) != ((k & size) == 0)) continue;
        entries[k] = b;
        entries[k + distance] = a;
      }
    }
  }
  __syncthreads();
}

// The k best of this block's chunk: to its list, or, of the only chunk, to the results.
__device__ inline void select(const TopKParameters& p, const Entry (&own)[kTopKItems], i64 line, i64 part,
                              const i64* at) {
  __shared__ Selection s;
  __shared__ Entry chosen[kMostSelectedBytes / sizeof(Entry)];
  const i64 there = p.count - part * p.chunk;
  const i64 inChunk = there < p.chunk ? there : p.chunk;
  const int wanted = (int)(p.k < inChunk ? p.k : inChunk);
  if (threadIdx.x == 0) s.taken = 0;
  const Entry limit = wanted < inChunk ? limitOf(p, own, (unsigned)wanted, s) : Entry{~(Order)0, kNoIndex - 1};
  __syncthreads();
  unsigned mine = 0;
#pragma unroll
  for (int k = 0; k < kTopKItems; ++k) mine += before(limit, own[k]) ? 0 : 1;
  unsigned upTo = mine;
  for (int delta = 1; delta < 32; delta *= 2) {
    const unsigned below = shuffleUp(upTo, delta);
    if ((int)(threadIdx.x % 32) >= delta) upTo += below;
  }
  const unsigned first = threadIdx.x % 32 == 31 && upTo > 0 ? addShared(&s.taken, upTo) : 0;
  unsigned place = shuffleFrom(first, 31) + upTo - mine;
  const bool isLast = p.chunks == 1;
  Entry* const to = isLast ? chosen : (Entry*)p.to + line * p.toRoom + part * p.k;
#pragma unroll
  for (int k = 0; k < kTopKItems; ++k) {
    if (!before(limit, own[k])) to[place++] = own[k];
  }
  if (!isLast) return;
  __syncthreads();
  sortEntries(chosen, wanted);
  for (int k = threadIdx.x; k < wanted; k += blockDim.x) write(p, at, k, chosen[k].index);
}

KERNEL_BOUNDED(__launch_bounds__(kTopKThreads), tenon_topk_select, TopKParameters) {
  const i64 line = blockIdx.x / p.chunks;
  const i64 part = blockIdx.x % p.chunks;
  i64 at[2];
  locate(p.lines, (unsigned)(p.firstLine + line), at);
  Entry own[kTopKItems];
#pragma unroll
  for (int k = 0; k < kTopKItems; ++k) {
    const i64 inChunk = k * blockDim.x + threadIdx.x;
    const i64 i = part * p.chunk + inChunk;
    own[k] = noEntry();
    if (inChunk < p.chunk && i < p.count) own[k] = {orderAt(p, at, i), (unsigned)i};
  }
  select(p, own, line, part, at);
}

KERNEL_BOUNDED(__launch_bounds__(kTopKThreads), tenon_topk_select_again, TopKParameters) {
  const i64 line = blockIdx.x / p.chunks;
  const i64 part = blockIdx.x % p.chunks;
  i64 at[2];
  locate(p.lines, (unsigned)(p.firstLine + line), at);
  const Entry* const from = (const Entry*)p.from + line * p.fromRoom;
  Entry own[kTopKItems];
#pragma unroll
  for (int k = 0; k < kTopKItems; ++k) {
    const i64 inChunk = k * blockDim.x + threadIdx.x;
    const i64 i = part * p.chunk + inChunk;
    own[k] = inChunk < p.chunk && i < p.count ? from[i] : noEntry();
  }
  select(p, own, line, part, at);
}

// All sorted: keys of order and index; of wide values first by the lower half, then by the upper half and the place
// there.
__device__ inline bool placeOfKey(const TopKParameters& p, i64 count, i64& line, i64& i) {
  const i64 thread = globalIndex();
  line = thread / count;
  i = thread % count;
  return line < p.chunks;
}
KERNEL(tenon_topk_keys, TopKParameters) {
  i64 line, i;
  if (!placeOfKey(p, p.extent, line, i)) return;
  i64 at[2];
  locate(p.lines, (unsigned)(p.firstLine + line), at);
  p.keys[line * p.capacity + i] = (Key)(unsigned)orderAt(p, at, i) << 32 | (unsigned)i;
}
KERNEL(tenon_topk_upper_keys, TopKParameters) {
  i64 line, i;
  if (!placeOfKey(p, p.extent, line, i)) return;
  i64 at[2];
  locate(p.lines, (unsigned)(p.firstLine + line), at);
  const unsigned index = (unsigned)p.ranks[line * p.capacity + i];
  p.keys[line * p.capacity + i] = (Key)((unsigned long long)orderAt(p, at, index) >> 32) << 32 | (unsigned)i;
}
KERNEL(tenon_topk_write, TopKParameters) {
  i64 line, place;
  if (!placeOfKey(p, p.k, line, place)) return;
  i64 at[2];
  locate(p.lines, (unsigned)(p.firstLine + line), at);
  unsigned index = (unsigned)p.keys[line * p.capacity + place];
  if (p.ranks != nullptr) index = (unsigned)p.ranks[line * p.capacity + index];
  write(p, at, place, index);
}
