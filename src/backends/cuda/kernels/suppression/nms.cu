// Boxes by descending score, without those that overlap a better one of their class. X: type of boxes and scores; M: of
// the number of boxes per class; I: of the rows; CENTERS: 1 or 0.
#include "greedy.cuh"

__device__ bool isCandidate(const SuppressionParameters& p, i64, float score) { return score > *p.threshold; }
__device__ unsigned placeOf(const SuppressionParameters&, i64 pair) { return (unsigned)pair; }
__device__ unsigned classOf(const SuppressionParameters& p, unsigned place) { return place % (unsigned)p.classes; }
__device__ double overlapThreshold(const SuppressionParameters& p) { return *p.overlap; }
__device__ i64 mostKept(const SuppressionParameters& p) { return load<M>(p.most, 0); }

__device__ Box boxOf(const SuppressionParameters& p, i64 item, unsigned place) {
  const i64 at = 4 * (p.sets == 1 ? item * p.boxCount + place / (unsigned)p.classes : item * p.pairs + place);
  const double a = load<X>(p.boxes, at);
  const double b = load<X>(p.boxes, at + 1);
  const double c = load<X>(p.boxes, at + 2);
  const double d = load<X>(p.boxes, at + 3);
  if (CENTERS) return {{a - c / 2, b - d / 2}, {a + c / 2, b + d / 2}, product(c, d)};
  Box box = boxOfCorners(a, b, c, d);
  box.area = product(box.high[0] - box.low[0], box.high[1] - box.low[1]);
  return box;
}

// Boxes without an area overlap nothing.
__device__ bool overlaps(const SuppressionParameters&, const Box& a, const Box& b, double threshold) {
  const double width = lower(a.high[0], b.high[0]) - upper(a.low[0], b.low[0]);
  const double height = lower(a.high[1], b.high[1]) - upper(a.low[1], b.low[1]);
  if (!(width > 0 && height > 0 && a.area > 0 && b.area > 0)) return false;
  const double shared = product(width, height);
  return shared > product(threshold, a.area + b.area - shared);
}

// A block for each item; all blocks fill what is behind the last row.
KERNEL(tenon_nms_write, SuppressionParameters) {
  __shared__ i64 sums[32];
  __shared__ unsigned ofWarps[32];
  i64 before = 0;
  i64 all = 0;
  for (i64 k = threadIdx.x; k < p.items; k += kSuppressionThreads) {
    all += p.written[k];
    if (k < blockIdx.x) before += p.written[k];
  }
  before = blockReduce(before, Add(), sums);
  all = blockReduce(all, Add(), sums);
  I* const rows = (I*)p.outputs[0];
  if (blockIdx.x < p.items) {
    const i64 item = blockIdx.x;
    eachResult(p, item, p.keep - before, ofWarps, [&](i64 rank, i64 position) {
      const unsigned place = placeAt(p, item, position);
      I* const row = rows + (before + rank) * 3;
      row[0] = (I)item;
      row[1] = (I)classOf(p, place);
      row[2] = (I)(place / (unsigned)p.classes);
    });
  }
  if (all > p.keep) all = p.keep;
  if (blockIdx.x == 0 && threadIdx.x == 0) *(i32*)p.outputs[1] = (i32)all;
  for (i64 k = all * 3 + globalIndex(); k < p.keep * 3; k += (i64)gridDim.x * kSuppressionThreads) rows[k] = 0;
}
