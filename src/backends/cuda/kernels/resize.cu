// Interpolation: each output element is a weighted sum over the taps of up to three axes, which the host has put in
// tables. X: element type; NEAREST: elements are copied as they are.
#include "prelude.cuh"

struct Tap {
  int index;
  float weight;
};
struct Parameters {
  const void* x;
  void* y;
  int rank;
  i64 count;
  i64 extent[8];      // of the result, in the order in which it lies in memory
  i64 xStride[8];     // 0 for axes with taps
  i64 yStride[8];
  int tapAxis[8];     // which of the three below the axis is, or -1
  const Tap* taps[3]; // [extent][tapCount]
  int tapCount[3];
  i64 tapStride[3];   // of x along the axis
};

KERNEL(tenon_resize, Parameters) {
  typedef ComputeOf<X> C;
  i64 rest = globalIndex();
  if (rest >= p.count) return;
  const Tap* taps[3] = {p.taps[0], p.taps[1], p.taps[2]};
  i64 from = 0;
  i64 to = 0;
  for (int axis = p.rank - 1; axis >= 0; --axis) {
    const i64 i = takeIndex(rest, p.extent[axis]);
    from += i * p.xStride[axis];
    to += i * p.yStride[axis];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      if (p.tapAxis[axis] == k) taps[k] += i * p.tapCount[k];
    }
  }
  if (NEAREST) {
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      if (p.tapCount[k] > 0) from += taps[k]->index * p.tapStride[k];
    }
    ((X*)p.y)[to] = ((const X*)p.x)[from];
    return;
  }
  float sum = 0;
  const Tap one = {0, 1.f};
  for (int a = 0; a < max(p.tapCount[0], 1); ++a) {
    const Tap ta = p.tapCount[0] > 0 ? taps[0][a] : one;
    for (int b = 0; b < max(p.tapCount[1], 1); ++b) {
      const Tap tb = p.tapCount[1] > 0 ? taps[1][b] : one;
      for (int c = 0; c < max(p.tapCount[2], 1); ++c) {
        const Tap tc = p.tapCount[2] > 0 ? taps[2][c] : one;
        const float weight = ta.weight * tb.weight * tc.weight;
        if (weight == 0.f) continue;  // an infinity beside an exact hit must not become NaN
        sum += weight * (float)load<X>(p.x, from + ta.index * p.tapStride[0] + tb.index * p.tapStride[1] + tc.index * p.tapStride[2]);
      }
    }
  }
  const bool floating = C(0.5f) != C(0);
  storeReal<X>(p.y, to, floating ? sum : rintf(sum));
}
