// Pooling: a thread per output element, or per pack of neighbouring channels. X: element type; KIND: 0 maximum, 1 average, 2 blend of both.
#include "prelude.cuh"

struct Window {
  int small, large, kernel, stride, before, after;
};
struct Parameters {
  const void* x;
  void* y;
  i64 count;
  int channels;
  int channelsInnermost;  // order in which neighbouring threads walk the result: as it lies in memory
  Window window[3];
  i64 xStride[5];         // n, c and three spatial axes
  i64 yStride[5];
  int exclusive;
  float blend;
};

__device__ int paddedCells(const Window& w, int s) {
  const int first = s * w.stride - w.before;
  const int end = min(first + w.kernel, w.large + w.after);
  return max(end - max(first, -w.before), 0);
}

// kWidth channels of one place; more than one only where channels lie innermost.
template <int kWidth>
__device__ void pool(const Parameters& p) {
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
    first[k] = max(s[k] * p.window[k].stride - p.window[k].before, 0);
    last[k] = min(s[k] * p.window[k].stride - p.window[k].before + p.window[k].kernel, p.window[k].large);
    cells *= max(last[k] - first[k], 0);
  }
  for (int z = first[0]; z < last[0]; ++z) {
    for (int y = first[1]; y < last[1]; ++y) {
      const X* line = base + z * p.xStride[2] + y * p.xStride[3];
      for (int x = first[2]; x < last[2]; ++x) {
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
  if (!p.exclusive) cells = paddedCells(p.window[0], s[0]) * paddedCells(p.window[1], s[1]) * paddedCells(p.window[2], s[2]);
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
KERNEL(tenon_pooling, Parameters) { pool<1>(p); }
KERNEL(tenon_pooling_packed, Parameters) { pool<16 / sizeof(X)>(p); }
