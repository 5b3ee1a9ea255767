// Boxes that no better box overlaps, in outputs of a fixed size. X: type of boxes and scores; INCLUSIVE,
// INCLUSIVE_OVERLAP: 1 or 0.
#include "greedy.cuh"

__device__ bool isCandidate(const SuppressionParameters& p, i64 pair, float score) {
  const bool passes = INCLUSIVE ? score >= p.scoreThreshold : score > p.scoreThreshold;
  return passes && (p.background < 0 || pair % p.classes != p.background);
}
// Class by class: of equal scores the lower class is first.
__device__ unsigned placeOf(const SuppressionParameters& p, i64 pair) {
  const unsigned box = (unsigned)pair / (unsigned)p.classes;
  return ((unsigned)pair - box * (unsigned)p.classes) * (unsigned)p.boxCount + box;
}
__device__ unsigned classOf(const SuppressionParameters& p, unsigned place) { return place / (unsigned)p.boxCount; }
__device__ unsigned boxNumber(const SuppressionParameters& p, unsigned place) { return place % (unsigned)p.boxCount; }
__device__ double overlapThreshold(const SuppressionParameters& p) { return p.overlapThreshold; }
__device__ i64 mostKept(const SuppressionParameters& p) { return p.keptRoom; }

__device__ Box boxOf(const SuppressionParameters& p, i64 item, unsigned place) {
  const i64 set = p.sets == 1 ? 0 : classOf(p, place);
  const i64 at = 4 * ((item * p.boxCount + boxNumber(p, place)) * p.sets + set);
  Box box =
      boxOfCorners(load<X>(p.boxes, at), load<X>(p.boxes, at + 1), load<X>(p.boxes, at + 2), load<X>(p.boxes, at + 3));
  box.area = product(box.high[0] - box.low[0] + p.longerArea, box.high[1] - box.low[1] + p.longerArea);
  return box;
}

__device__ bool overlaps(const SuppressionParameters& p, const Box& a, const Box& b, double threshold) {
  const double width = lower(a.high[0], b.high[0]) - upper(a.low[0], b.low[0]) + p.longerSide;
  const double height = lower(a.high[1], b.high[1]) - upper(a.low[1], b.low[1]) + p.longerSide;
  double overlap = 0;
  if (width > 0 && height > 0) {
    const double shared = product(width, height);
    overlap = shared / (a.area + b.area - shared);
  }
  return INCLUSIVE_OVERLAP ? overlap >= threshold : overlap > threshold;
}

// The first `perClass` candidates of each class: a block for each class.
KERNEL(tenon_suppression_first, SuppressionParameters) {
  __shared__ unsigned ofWarps[32];
  const i64 item = blockIdx.x / p.classes;
  const unsigned group = (unsigned)(blockIdx.x % p.classes);
  const i64 count = candidatesOf(p, item);
  i64 found = 0;
  for (i64 first = 0; first < count && found < p.perClass; first += kSuppressionThreads) {
    const i64 position = first + threadIdx.x;
    const bool mine = position < count && classOf(p, placeAt(p, item, position)) == group;
    unsigned total = 0;
    const i64 own = found + placeAmong(mine, ofWarps, total);
    if (mine && own < p.perClass) p.alive[item * p.limit + position] = 1;
    found += total;
  }
}

// Behind the first `inAll` of those nothing is looked at: a block for each item.
KERNEL(tenon_suppression_end, SuppressionParameters) {
  __shared__ unsigned ofWarps[32];
  const i64 item = blockIdx.x;
  const i64 count = candidatesOf(p, item);
  if (threadIdx.x == 0) p.ends[item] = (unsigned)count;
  i64 found = 0;
  for (i64 first = 0; first < count && found < p.inAll; first += kSuppressionThreads) {
    const i64 position = first + threadIdx.x;
    const bool holds = position < count && p.alive[item * p.limit + position] != 0;
    unsigned total = 0;
    const i64 own = found + placeAmong(holds, ofWarps, total);  // its barriers order the two writes
    if (holds && own == p.inAll - 1) p.ends[item] = (unsigned)position + 1;
    found += total;
  }
}

// A block for each item.
KERNEL(tenon_padded_nms_write, SuppressionParameters) {
  __shared__ unsigned ofWarps[32];
  const i64 item = blockIdx.x;
  i32* const boxes = (i32*)p.outputs[1] + item * p.keep;
  i32* const classes = (i32*)p.outputs[2] + item * p.keep;
  X* const scores = (X*)p.outputs[3] + item * p.keep;
  eachResult(p, item, p.keep, ofWarps, [&](i64 rank, i64 position) {
    const unsigned place = placeAt(p, item, position);
    const unsigned box = boxNumber(p, place);
    const unsigned type = classOf(p, place);
    boxes[rank] = (i32)box;
    classes[rank] = (i32)type;
    scores[rank] = ((const X*)p.scores)[item * p.pairs + (i64)box * p.classes + type];
  });
  i64 all = p.written[item];
  if (all > p.keep) all = p.keep;
  if (threadIdx.x == 0) ((i32*)p.outputs[0])[item] = (i32)all;
  for (i64 k = all + threadIdx.x; k < p.keep; k += kSuppressionThreads) {
    boxes[k] = -1;
    classes[k] = -1;
    store<X>(scores, k, 0.f);
  }
}
