// Pooling: a thread per output element. X: element type; KIND: 0 maximum, 1 average, 2 blend of both.
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

KERNEL(tenon_pooling, Parameters) {
  typedef ComputeOf<X> C;
  i64 rest = globalIndex();
  if (rest >= p.count) return;
  int channel = 0;
  int s[3];
  if (p.channelsInnermost) {
    channel = (int)(rest % p.channels);
    rest /= p.channels;
  }
#pragma unroll
  for (int k = 2; k >= 0; --k) {
    s[k] = (int)(rest % p.window[k].small);
    rest /= p.window[k].small;
  }
  if (!p.channelsInnermost) {
    channel = (int)(rest % p.channels);
    rest /= p.channels;
  }
  const i64 base = rest * p.xStride[0] + channel * p.xStride[1];
  const bool floating = C(0.5f) != C(0);
  C highest = floating ? C(-infinity()) : C(IntegerLimits<X>::low());
  float sum = 0;
  int cells = 0;
  int first[3], last[3];
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    first[k] = max(s[k] * p.window[k].stride - p.window[k].before, 0);
    last[k] = min(s[k] * p.window[k].stride - p.window[k].before + p.window[k].kernel, p.window[k].large);
  }
  for (int z = first[0]; z < last[0]; ++z) {
    for (int y = first[1]; y < last[1]; ++y) {
      const i64 line = base + z * p.xStride[2] + y * p.xStride[3];
      for (int x = first[2]; x < last[2]; ++x) {
        const C value = load<X>(p.x, line + x * p.xStride[4]);
        if (KIND != 1) highest = Max()(highest, value);
        if (KIND != 0) sum += (float)value;
        ++cells;
      }
    }
  }
  i64 to = rest * p.yStride[0] + channel * p.yStride[1];
#pragma unroll
  for (int k = 0; k < 3; ++k) to += s[k] * p.yStride[k + 2];
  if (KIND == 0) return store<X>(p.y, to, highest);
  if (!p.exclusive) cells = paddedCells(p.window[0], s[0]) * paddedCells(p.window[1], s[1]) * paddedCells(p.window[2], s[2]);
  const float average = cells == 0 ? 0.f : sum / cells;
  const float value = KIND == 1 ? average : (1.f - p.blend) * (float)highest + p.blend * average;
  storeReal<X>(p.y, to, floating ? value : rintf(value));
}
