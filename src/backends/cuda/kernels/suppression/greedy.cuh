// One candidate after another is kept unless one that was kept overlaps it too much: a block for each group of
// candidates that may suppress each other. Some are compared with all kept ones and with each other at once; then one
// thread decides on them in order. Whoever includes this says what a candidate's box is (boxOf), what overlaps
// (overlaps), which class a place has (classOf), and how many are kept at most (mostKept).
#pragma once

#include "candidates.cuh"
#include "ordered.cuh"

struct Box {
  double low[2], high[2], area;
};
__device__ Box boxOf(const SuppressionParameters& p, i64 item, unsigned place);
__device__ bool overlaps(const SuppressionParameters& p, const Box& a, const Box& b, double threshold);
__device__ double overlapThreshold(const SuppressionParameters& p);
__device__ unsigned classOf(const SuppressionParameters& p, unsigned place);
__device__ i64 mostKept(const SuppressionParameters& p);  // of a group

// As the host's minimum and maximum where one is NaN.
__device__ double lower(double a, double b) { return b < a ? b : a; }
__device__ double upper(double a, double b) { return a < b ? b : a; }
__device__ Box boxOfCorners(double xa, double ya, double xb, double yb) {
  return {{lower(xa, xb), lower(ya, yb)}, {upper(xa, xb), upper(ya, yb)}, 0};
}

__device__ i64 candidatesOf(const SuppressionParameters& p, i64 item) {
  const i64 count = p.counts[item];
  return count < p.limit ? count : p.limit;
}
__device__ unsigned placeAt(const SuppressionParameters& p, i64 item, i64 position) {
  return (unsigned)p.keys[item * p.capacity + position];
}

struct GreedyShared {
  Box boxes[kBoxesAtOnce];
  unsigned short rows[kBoxesAtOnce][4];                  // bit b of rows[i][part]: i would suppress 16 * part + b
  unsigned hits[2];                                      // bits of those that a kept one suppresses
  unsigned waiting[kBoxesAtOnce + kSuppressionThreads];  // positions of candidates
  unsigned ofWarps[32];
  Key keep, write;
};

// The rows of those that are looked at: a thread compares one with 16 others behind it.
__device__ void compareWithin(const SuppressionParameters& p, int many, double threshold, GreedyShared& s) {
  const int i = threadIdx.x / 4;
  const int part = threadIdx.x % 4;
  unsigned bits = 0;
  for (int b = 0; b < 16; ++b) {
    const int j = part * 16 + b;
    if (i < j && j < many && overlaps(p, s.boxes[i], s.boxes[j], threshold)) bits |= 1u << b;
  }
  s.rows[i][part] = (unsigned short)bits;
}

__device__ void compareWithKept(const SuppressionParameters& p, i64 item, const unsigned* kept, i64 count, int many,
                                double threshold, GreedyShared& s) {
  Key hit = 0;
  for (i64 k = threadIdx.x; k < count; k += kSuppressionThreads) {
    const Box box = boxOf(p, item, kept[k]);
    for (int j = 0; j < many; ++j) {
      if (overlaps(p, box, s.boxes[j], threshold)) hit |= 1ull << j;
    }
  }
  if ((unsigned)hit != 0) setShared(&s.hits[0], (unsigned)hit);
  if (hit >> 32 != 0) setShared(&s.hits[1], (unsigned)(hit >> 32));
}

// By one thread.
__device__ void decide(const SuppressionParameters& p, i64 item, i64 kept, i64 most, int many, GreedyShared& s) {
  Key left = many == 64 ? ~0ull : (1ull << many) - 1;
  left &= ~((Key)s.hits[1] << 32 | s.hits[0]);
  Key keep = 0;
  for (; left != 0 && kept < most; ++kept) {
    const int i = lowestBit(left);
    keep |= 1ull << i;
    left &= ~(1ull << i);
    Key row = 0;
    for (int part = 0; part < 4; ++part) row |= (Key)s.rows[i][part] << (16 * part);
    left &= ~row;
  }
  s.keep = keep;
  s.write = keep;
  if (p.ofClass == nullptr) return;
  for (; keep != 0; keep &= keep - 1) {
    const int i = lowestBit(keep);
    unsigned& count = p.ofClass[item * p.classes + classOf(p, placeAt(p, item, s.waiting[i]))];
    if (count >= p.keepPerClass) s.write &= ~(1ull << i);
    ++count;
  }
}

KERNEL(tenon_suppression_greedy, SuppressionParameters) {
  __shared__ GreedyShared s;
  const i64 item = blockIdx.x / p.groups;
  const unsigned group = (unsigned)(blockIdx.x % p.groups);
  const i64 most = mostKept(p);
  const double threshold = overlapThreshold(p);
  i64 count = candidatesOf(p, item);
  if (p.ends != nullptr && p.ends[item] < count) count = p.ends[item];
  unsigned* const kept = p.kept + (i64)blockIdx.x * p.keptRoom;
  i64 next = 0;       // position
  i64 members = 0;    // of the group so far
  unsigned have = 0;  // that wait
  i64 keptCount = 0, writtenCount = 0;
  while (keptCount < most && writtenCount < p.keep) {
    while (have < kBoxesAtOnce && next < count) {
      const i64 position = next + threadIdx.x;
      const bool mine = position < count && (p.groups == 1 || classOf(p, placeAt(p, item, position)) == group) &&
                        (p.alive == nullptr || p.alive[item * p.limit + position] != 0);
      unsigned total = 0;
      const unsigned place = placeAmong(mine, s.ofWarps, total);
      if (mine) s.waiting[have + place] = (unsigned)position;
      have += total;
      members += total;
      next += kSuppressionThreads;
    }
    __syncthreads();
    if (have == 0) break;
    const int many = have < kBoxesAtOnce ? (int)have : kBoxesAtOnce;
    if (threadIdx.x < many) s.boxes[threadIdx.x] = boxOf(p, item, placeAt(p, item, s.waiting[threadIdx.x]));
    if (threadIdx.x < 2) s.hits[threadIdx.x] = 0;
    __syncthreads();
    compareWithin(p, many, threshold, s);
    compareWithKept(p, item, kept, keptCount, many, threshold, s);
    __syncthreads();
    if (threadIdx.x == 0) decide(p, item, keptCount, most, many, s);
    __syncthreads();
    const Key keep = s.keep;
    const Key write = s.write;
    if (threadIdx.x < many && (keep >> threadIdx.x & 1) != 0) {
      const unsigned position = s.waiting[threadIdx.x];
      kept[keptCount + countBits(keep & ((1ull << threadIdx.x) - 1))] = placeAt(p, item, position);
      if ((write >> threadIdx.x & 1) != 0) p.flags[item * p.limit + position] = 1;
    }
    keptCount += countBits(keep);
    writtenCount += countBits(write);
    have -= many;
    const unsigned moved = threadIdx.x < have ? s.waiting[many + threadIdx.x] : 0;
    __syncthreads();  // those that wait have been read, and kept ones are seen
    if (threadIdx.x < have) s.waiting[threadIdx.x] = moved;
  }
  if (threadIdx.x == 0 && writtenCount > 0) addGlobal(&p.written[item], (unsigned)writtenCount);
}

// The results of an item in order: `write(rank, position)` for each whose rank is below `room`.
template <typename Write>
__device__ void eachResult(const SuppressionParameters& p, i64 item, i64 room, unsigned* shared, Write write) {
  const i64 count = candidatesOf(p, item);
  i64 rank = 0;
  for (i64 first = 0; first < count && rank < room; first += kSuppressionThreads) {
    const i64 position = first + threadIdx.x;
    const bool holds = position < count && p.flags[item * p.limit + position] != 0;
    unsigned total = 0;
    const i64 own = rank + placeAmong(holds, shared, total);
    if (holds && own < room) write(own, position);
    rank += total;
  }
}
