// Pooling: a thread per output element, or per pack of neighbouring channels. X: element type; KIND: 0 maximum, 1
// average, 2 blend of both; HEIGHT, WIDTH: the window where it has at most two axes and few cells, else 0.
#include "backends/cuda/kernels/pooling/pooling_parameters.h"
#include "pack_max.cuh"
#include "prelude.cuh"

// How many cells of a window that begins at `first` stand in front of `bound`.
__device__ int cellsUntil(const PoolingWindow& w, int first, int bound) {
  return bound <= first ? 0 : min(w.kernel, (bound - first + w.dilation - 1) / w.dilation);
}
__device__ int paddedCells(const PoolingWindow& w, int s) {
  const int first = s * w.stride - w.before;
  return max(cellsUntil(w, first, w.large + w.after) - cellsUntil(w, first, -w.before), 0);
}

// kWidth channels of one place; more than one only where channels lie innermost.
template <int kWidth>
__device__ void pool(const PoolingParameters& p) {
  typedef ComputeOf<X> C;
  i64 rest = globalIndex();
  if (rest >= p.count / kWidth) return;
  i64 channel = 0;
  int s[3];
  if (p.channelsInnermost) channel = takeIndex(rest, p.channels / kWidth) * kWidth;
#pragma unroll
  for (int k = 2; k >= 0; --k) s[k] = (int)takeIndex(rest, p.window[k].small);
  if (!p.channelsInnermost) channel = takeIndex(rest, p.channels);
  const X* base = (const X*)p.x + rest * p.xStride[0] + channel * p.xStride[1];
  const bool floating = C(0.5f) != C(0);
  C highest[kWidth];
  float sum[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    highest[j] = floating ? C(-infinity()) : C(IntegerLimits<X>::low());
    sum[j] = 0;
  }
  int first[3], last[3];
  int cells = 1;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const PoolingWindow& w = p.window[k];
    const int begin = s[k] * w.stride - w.before;
    const int outside = cellsUntil(w, begin, 0);
    const int inside = max(cellsUntil(w, begin, w.large) - outside, 0);
    first[k] = begin + outside * w.dilation;
    last[k] = first[k] + inside * w.dilation;
    cells *= inside;
  }
  for (int z = first[0]; z < last[0]; z += p.window[0].dilation) {
    for (int y = first[1]; y < last[1]; y += p.window[1].dilation) {
      const X* line = base + z * p.xStride[2] + y * p.xStride[3];
      for (int x = first[2]; x < last[2]; x += p.window[2].dilation) {
        const Pack<X, kWidth> values = *(const Pack<X, kWidth>*)(line + x * p.xStride[4]);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          const C value = Element<X>::load(values.e[j]);
          if (KIND != 1) highest[j] = Max()(highest[j], value);
          if (KIND != 0) sum[j] += (float)value;
        }
      }
    }
  }
  i64 to = rest * p.yStride[0] + channel * p.yStride[1];
#pragma unroll
  for (int k = 0; k < 3; ++k) to += s[k] * p.yStride[k + 2];
  if (!p.exclusive)
    cells = paddedCells(p.window[0], s[0]) * paddedCells(p.window[1], s[1]) * paddedCells(p.window[2], s[2]);
  Pack<X, kWidth> result;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    const float average = cells == 0 ? 0.f : sum[j] / cells;
    const float value = KIND == 1 ? average : (1.f - p.blend) * (float)highest[j] + p.blend * average;
    if (KIND == 0) result.e[j] = Element<X>::store(highest[j]);
    else storeReal<X>(&result.e[j], 0, floating ? value : rintf(value));
  }
  *(Pack<X, kWidth>*)((X*)p.y + to) = result;
}

// All cells of a window, or of one of its rows, are asked for before the first is needed. Cells outside of the input
// are read at the nearest place inside, which lies in the window and so changes no maximum; averages leave them out.
// For fewer than 2^31 elements.
template <int kWidth>
__device__ __forceinline__ void poolWindow(const PoolingParameters& p) {
  constexpr int kRows = HEIGHT > 0 ? HEIGHT : 1;
  constexpr int kColumns = WIDTH > 0 ? WIDTH : 1;
  constexpr int kTogether = kRows * kColumns <= 9 ? kRows : 1;
  const i64 index = globalIndex();
  if (index >= p.count / kWidth) return;
  unsigned rest = (unsigned)index;
  const auto take = [&](const Divider& extent) {
    const unsigned quotient = rest / extent;
    const unsigned remainder = rest - quotient * extent.divisor;
    rest = quotient;
    return (int)remainder;
  };
  int channel = 0;
  if (p.channelsInnermost) channel = take(p.packs) * kWidth;
  const int column = take(p.columns);
  const int row = take(p.rows);
  if (!p.channelsInnermost) channel = take(p.packs) * kWidth;
  const PoolingWindow& wy = p.window[1];
  const PoolingWindow& wx = p.window[2];
  const int y0 = row * wy.stride - wy.before;
  const int x0 = column * wx.stride - wx.before;
  const X* base = (const X*)p.x + rest * p.xStride[0] + channel * p.xStride[1];
  Pack<X, kWidth> highest;
  float sum[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) sum[j] = 0;
#pragma unroll(kTogether == kRows ? kRows : 1)
  for (int first = 0; first < kRows; first += kTogether) {
    Pack<X, kWidth> cell[kTogether][kColumns];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const X* line = base + min(max(y0 + first + i, 0), wy.large - 1) * p.xStride[3];
#pragma unroll
      for (int k = 0; k < kColumns; ++k)
        cell[i][k] = *(const Pack<X, kWidth>*)(line + min(max(x0 + k, 0), wx.large - 1) * p.xStride[4]);
    }
    if (first == 0) highest = cell[0][0];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
#pragma unroll
      for (int k = 0; k < kColumns; ++k) {
        if (KIND != 1) PackMax<X, kWidth>::join(highest, cell[i][k]);
        const bool inside = y0 + first + i >= 0 && y0 + first + i < wy.large && x0 + k >= 0 && x0 + k < wx.large;
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          if (KIND != 0 && inside) sum[j] += (float)Element<X>::load(cell[i][k].e[j]);
        }
      }
    }
  }
  const int rowsInside = max(min(y0 + kRows, wy.large) - max(y0, 0), 0);
  const int columnsInside = max(min(x0 + kColumns, wx.large) - max(x0, 0), 0);
  const bool empty = rowsInside * columnsInside == 0;
  const int cells = p.exclusive ? rowsInside * columnsInside : paddedCells(wy, row) * paddedCells(wx, column);
  const bool floating = ComputeOf<X>(0.5f) != ComputeOf<X>(0);
  const ComputeOf<X> lowest = floating ? ComputeOf<X>(-infinity()) : ComputeOf<X>(IntegerLimits<X>::low());
  Pack<X, kWidth> result;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    if (empty) highest.e[j] = Element<X>::store(lowest);
    const float average = cells == 0 ? 0.f : sum[j] / cells;
    const float value =
        KIND == 1 ? average : (1.f - p.blend) * (float)Element<X>::load(highest.e[j]) + p.blend * average;
    if (KIND == 0) result.e[j] = highest.e[j];
    else storeReal<X>(&result.e[j], 0, floating ? value : rintf(value));
  }
  *(Pack<X, kWidth>*)((X*)p.y + rest * p.yStride[0] + channel * p.yStride[1] + row * p.yStride[3] +
                      column * p.yStride[4]) = result;
}

KERNEL(tenon_pooling, PoolingParameters) { pool<1>(p); }
KERNEL(tenon_pooling_packed, PoolingParameters) { pool<16 / sizeof(X)>(p); }
KERNEL(tenon_pooling_window, PoolingParameters) { poolWindow<1>(p); }
KERNEL(tenon_pooling_window_packed, PoolingParameters) { poolWindow<16 / sizeof(X)>(p); }
