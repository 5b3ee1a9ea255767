// Interpolation: each output element is a weighted sum over the taps of up to three axes, which the host has put in
// tables. X: element type; NEAREST: elements are copied as they are.
#include "backends/cuda/kernels/resize/resize_parameters.h"
#include "prelude.cuh"

typedef ComputeOf<X> C;
__device__ X elementOf(float sum) {
  X result;
  const bool floating = C(0.5f) != C(0);
  storeReal<X>(&result, 0, floating ? sum : rintf(sum));
  return result;
}

// Where an output element, or the first of several, comes from and goes to. Takes the indices of all axes in front of
// `axes` off `rest`.
struct Target {
  i64 from, to;
  const ResizeTap* taps[3];

  __device__ Target(const ResizeParameters& p, i64 rest, int axes)
      : from(0), to(0), taps{p.taps[0], p.taps[1], p.taps[2]} {
    for (int axis = axes - 1; axis >= 0; --axis) {
      const i64 i = takeIndex(rest, p.extent[axis]);
      from += i * p.xStride[axis];
      to += i * p.yStride[axis];
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        if (p.tapAxis[axis] == k) taps[k] += i * p.tapCount[k];
      }
    }
  }
  __device__ ResizeTap tap(const ResizeParameters& p, int axis, int number) const {
    const ResizeTap one = {0, 1.f};
    return p.tapCount[axis] > 0 ? taps[axis][number] : one;
  }
};

// kWidth neighbouring elements of an axis that stays as it is.
template <int kWidth>
__device__ void resize(const ResizeParameters& p) {
  i64 rest = globalIndex();
  if (rest >= p.count / kWidth) return;
  i64 inner = 0;
  if (kWidth > 1) inner = takeIndex(rest, p.extent[p.rank - 1] / kWidth) * kWidth;
  Target target(p, rest, kWidth > 1 ? p.rank - 1 : p.rank);
  const X* x = (const X*)p.x + target.from + inner;
  Pack<X, kWidth>& y = *(Pack<X, kWidth>*)((X*)p.y + target.to + inner);
  if (NEAREST) {
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      if (p.tapCount[k] > 0) x += target.taps[k]->index * p.tapStride[k];
    }
    y = *(const Pack<X, kWidth>*)x;
    return;
  }
  float sum[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) sum[j] = 0;
  for (int a = 0; a < max(p.tapCount[0], 1); ++a) {
    const ResizeTap ta = target.tap(p, 0, a);
    for (int b = 0; b < max(p.tapCount[1], 1); ++b) {
      const ResizeTap tb = target.tap(p, 1, b);
      for (int c = 0; c < max(p.tapCount[2], 1); ++c) {
        const ResizeTap tc = target.tap(p, 2, c);
        const float weight = ta.weight * tb.weight * tc.weight;
        if (weight == 0.f) continue;  // an infinity beside an exact hit must not become NaN
        const Pack<X, kWidth> values = *(const Pack<X, kWidth>*)(x + ta.index * p.tapStride[0] +
                                                                 tb.index * p.tapStride[1] + tc.index * p.tapStride[2]);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sum[j] += weight * (float)Element<X>::load(values.e[j]);
      }
    }
  }
  Pack<X, kWidth> result;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) result.e[j] = elementOf(sum[j]);
  y = result;
}
KERNEL(tenon_resize, ResizeParameters) { resize<1>(p); }
KERNEL(tenon_resize_packed, ResizeParameters) { resize<16 / sizeof(X)>(p); }

// A few neighbours along the innermost axis, which has the last of the taps; the taps of the other axes serve all.
KERNEL(tenon_resize_run, ResizeParameters) {
  const int last = p.rank - 1;
  const int own = p.tapAxis[last];  // 0 to 2; those behind it have no taps
  i64 rest = globalIndex();
  const int first = (int)takeIndex(rest, (p.extent[last] + kResizeRun - 1) / kResizeRun) * kResizeRun;
  if (rest * p.extent[last] >= p.count) return;
  const Target target(p, rest, last);
  const ResizeTap* taps = p.taps[own] + (i64)first * p.tapCount[own];
  const int run = p.extent[last] - first < kResizeRun ? (int)p.extent[last] - first : kResizeRun;
  const X* x = (const X*)p.x + target.from;
  X* y = (X*)p.y + target.to + first * p.yStride[last];
  if (NEAREST) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (k < own) x += target.taps[k]->index * p.tapStride[k];
    }
    for (int j = 0; j < run; ++j) y[j * p.yStride[last]] = x[taps[j].index * p.tapStride[own]];
    return;
  }
  float sum[kResizeRun] = {};
  for (int a = 0; a < (own > 0 ? p.tapCount[0] : 1); ++a) {
    const ResizeTap ta = own > 0 ? target.taps[0][a] : ResizeTap{0, 1.f};
    for (int b = 0; b < (own > 1 ? p.tapCount[1] : 1); ++b) {
      const ResizeTap tb = own > 1 ? target.taps[1][b] : ResizeTap{0, 1.f};
      const X* line = x + ta.index * p.tapStride[0] + tb.index * p.tapStride[1];
#pragma unroll
      for (int j = 0; j < kResizeRun; ++j) {
        if (j >= run) continue;
        for (int c = 0; c < p.tapCount[own]; ++c) {
          const ResizeTap tc = taps[j * p.tapCount[own] + c];
          const float weight = ta.weight * tb.weight * tc.weight;
          if (weight != 0.f) sum[j] += weight * (float)load<X>(line, tc.index * p.tapStride[own]);
        }
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kResizeRun; ++j) {
    if (j < run) y[j * p.yStride[last]] = elementOf(sum[j]);
  }
}

// Linear interpolation: two taps along one axis or two, loaded at once whatever they weigh.
struct Pair {
  ResizeTap tap[2];
};
// By one load: neighbouring threads take pairs that lie far apart.
__device__ __forceinline__ Pair loadPair(const ResizeTap* from) {
  const auto bits = *(const Pack<int, 4>*)from;
  return {{{bits.e[0], __int_as_float(bits.e[1])}, {bits.e[2], __int_as_float(bits.e[3])}}};
}
struct PairTarget {
  i64 from, to;
  unsigned inner;            // run or pack along the innermost axis
  unsigned index[kTapAxes];  // along the axes with taps that are not the innermost

  __device__ PairTarget(const ResizeParameters& p, unsigned index_) : from(0), to(0), index{0, 0, 0} {
    const int last = p.rank - 1;
    unsigned rest = index_ / p.divider[last];
    inner = index_ - rest * p.divider[last].divisor;
#pragma unroll 1
    for (int axis = last - 1; axis >= 0; --axis) {
      const unsigned quotient = rest / p.divider[axis];
      const unsigned i = rest - quotient * p.divider[axis].divisor;
      rest = quotient;
      from += i * p.xStride[axis];
      to += i * p.yStride[axis];
      if (p.tapAxis[axis] == 0) index[0] = i;
      if (p.tapAxis[axis] == 1) index[1] = i;
      if (p.tapAxis[axis] == 2) index[2] = i;
    }
  }
};
__device__ Pair pairAt(const ResizeParameters& p, int axis, unsigned index) {
  Pair pair = {{{0, 1.f}, {0, 0.f}}};
  if (p.tapCount[axis] > 0) pair = loadPair(p.taps[axis] + 2 * index);
  return pair;
}
__device__ float weighed(float weight, float value) { return weight != 0.f ? weight * value : 0.f; }

// Nearest elements: what the axes with taps add to an element's place, all but the innermost axis.
__device__ __forceinline__ i64 nearestPlace(const ResizeParameters& p, const PairTarget& target) {
  const int own = p.tapAxis[p.rank - 1];
  i64 place = target.from;
#pragma unroll
  for (int k = 0; k < kTapAxes; ++k) {
    if (p.tapCount[k] > 0 && k != own) place += p.taps[k][target.index[k]].index * p.tapStride[k];
  }
  return place;
}
// In packs of an innermost axis that stays as it is.
KERNEL(tenon_resize_nearest_packed, ResizeParameters) {
  constexpr int kPack = 16 / sizeof(X);
  if (globalIndex() >= p.threads) return;
  const PairTarget target(p, (unsigned)globalIndex());
  const i64 inner = (i64)target.inner * kPack;
  const X* const x = (const X*)p.x + nearestPlace(p, target) + inner;
  *(Pack<X, kPack>*)((X*)p.y + target.to + inner) = *(const Pack<X, kPack>*)x;
}
// Of an innermost axis with taps.
KERNEL(tenon_resize_nearest_run, ResizeParameters) {
  if (globalIndex() >= p.threads) return;
  const PairTarget target(p, (unsigned)globalIndex());
  const int last = p.rank - 1;
  const int own = p.tapAxis[last];
  const unsigned first = target.inner * kResizeRun;
  const int run = min((int)(p.extent[last] - first), kResizeRun);
  const X* const x = (const X*)p.x + nearestPlace(p, target);
  Pack<X, kResizeRun> values;
#pragma unroll
  for (int j = 0; j < kResizeRun; ++j) values.e[j] = x[p.taps[own][first + (j < run ? j : 0)].index * p.tapStride[own]];
  X* y = (X*)p.y + target.to + first * p.yStride[last];
  if (p.wholeRuns) {
    *(Pack<X, kResizeRun>*)y = values;
    return;
  }
#pragma unroll
  for (int j = 0; j < kResizeRun; ++j) {
    if (j < run) y[j * p.yStride[last]] = values.e[j];
  }
}

// The innermost axis has taps, and at most one other.
KERNEL(tenon_resize_pairs_run, ResizeParameters) {
  if (globalIndex() >= p.threads) return;
  const PairTarget target(p, (unsigned)globalIndex());
  const int last = p.rank - 1;
  const int own = p.tapAxis[last];
  const unsigned first = target.inner * kResizeRun;
  const int run = min((int)(p.extent[last] - first), kResizeRun);
  const Pair rows = own > 0 ? pairAt(p, 0, target.index[0]) : Pair{{{0, 1.f}, {0, 0.f}}};
  const i64 stride = p.tapStride[own];
  Pair columns[kResizeRun];
#pragma unroll
  for (int j = 0; j < kResizeRun; ++j) columns[j] = loadPair(p.taps[own] + 2 * (first + (j < run ? j : 0)));
  float sum[kResizeRun] = {};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (rows.tap[r].weight == 0.f) continue;
    const X* line = (const X*)p.x + target.from + (own > 0 ? rows.tap[r].index * p.tapStride[0] : 0);
    X values[kResizeRun][2];
#pragma unroll
    for (int j = 0; j < kResizeRun; ++j) {
      values[j][0] = line[columns[j].tap[0].index * stride];
      values[j][1] = line[columns[j].tap[1].index * stride];
    }
#pragma unroll
    for (int j = 0; j < kResizeRun; ++j) {
      sum[j] += weighed(rows.tap[r].weight * columns[j].tap[0].weight, (float)Element<X>::load(values[j][0]));
      sum[j] += weighed(rows.tap[r].weight * columns[j].tap[1].weight, (float)Element<X>::load(values[j][1]));
    }
  }
  X* y = (X*)p.y + target.to + first * p.yStride[last];
  Pack<X, kResizeRun> result;
#pragma unroll
  for (int j = 0; j < kResizeRun; ++j) result.e[j] = elementOf(sum[j]);
  if (p.wholeRuns) {
    *(Pack<X, kResizeRun>*)y = result;
    return;
  }
#pragma unroll
  for (int j = 0; j < kResizeRun; ++j) {
    if (j < run) y[j * p.yStride[last]] = result.e[j];
  }
}

// The innermost axis in packs, where the one in front of it has taps, too: a thread goes down several rows, and lines
// that are interpolated along the innermost axis serve all rows between them.
KERNEL(tenon_resize_lines, ResizeParameters) {
  constexpr int kPack = 16 / sizeof(X);
  if (globalIndex() >= p.threads) return;
  const int last = p.rank - 1;
  const PairTarget target(p, (unsigned)globalIndex());
  const int firstRow = (int)target.index[0] * kResizeRows;
  const int endRow = min(firstRow + kResizeRows, (int)p.extent[last - 1]);
  const X* const x = (const X*)p.x + target.from;
  X* y = (X*)p.y + target.to + (i64)target.index[0] * (kResizeRows - 1) * p.yStride[last - 1] + target.inner * kPack;
  Pair columns[kPack];
#pragma unroll
  for (int j = 0; j < kPack; ++j) columns[j] = loadPair(p.taps[1] + 2 * (target.inner * kPack + j));
  int from[2] = {-1, -1};  // which lines these are
  float lines[2][kPack] = {};
#pragma unroll 1
  for (int row = firstRow; row < endRow; ++row, y += p.yStride[last - 1]) {
    const Pair rows = pairAt(p, 0, (unsigned)row);
    if (rows.tap[0].index == from[1]) {  // one further
      from[0] = from[1];
#pragma unroll
      for (int j = 0; j < kPack; ++j) lines[0][j] = lines[1][j];
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (rows.tap[r].weight == 0.f || rows.tap[r].index == from[r]) continue;
      from[r] = rows.tap[r].index;
      const X* const line = x + from[r] * p.tapStride[0];
      X values[kPack][2];
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        values[j][0] = line[columns[j].tap[0].index * p.tapStride[1]];
        values[j][1] = line[columns[j].tap[1].index * p.tapStride[1]];
      }
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        lines[r][j] = weighed(columns[j].tap[0].weight, (float)Element<X>::load(values[j][0])) +
                      weighed(columns[j].tap[1].weight, (float)Element<X>::load(values[j][1]));
      }
    }
    Pack<X, kPack> result;
#pragma unroll
    for (int j = 0; j < kPack; ++j)
      result.e[j] = elementOf(weighed(rows.tap[0].weight, lines[0][j]) + weighed(rows.tap[1].weight, lines[1][j]));
    *(Pack<X, kPack>*)y = result;
  }
}

// The innermost axis stays as it is and is taken in packs; at most two others have taps.
KERNEL(tenon_resize_pairs_packed, ResizeParameters) {
  constexpr int kPack = 16 / sizeof(X);
  if (globalIndex() >= p.threads) return;
  const PairTarget target(p, (unsigned)globalIndex());
  const Pair rows = pairAt(p, 0, target.index[0]);
  const Pair columns = pairAt(p, 1, target.index[1]);
  const X* x = (const X*)p.x + target.from + (i64)target.inner * kPack;
  Pack<X, kPack> values[2][2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      values[r][c] =
          *(const Pack<X, kPack>*)(x + rows.tap[r].index * p.tapStride[0] + columns.tap[c].index * p.tapStride[1]);
    }
  }
  Pack<X, kPack> result;
#pragma unroll
  for (int j = 0; j < kPack; ++j) {
    float sum = 0;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int c = 0; c < 2; ++c)
        sum += weighed(rows.tap[r].weight * columns.tap[c].weight, (float)Element<X>::load(values[r][c].e[j]));
    }
    result.e[j] = elementOf(sum);
  }
  *(Pack<X, kPack>*)((X*)p.y + target.to + (i64)target.inner * kPack) = result;
}
