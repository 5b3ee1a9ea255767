// Depthwise convolution along one axis of channels-last tensors, for filters of many taps: a lane is a channel, a warp
// computes kLinePlaces neighbouring places of 32 channels, whose sums and window of x stay in registers, so that
// each value that is read is multiplied as often. Stages of taps and of x come into shared memory as floats; kTapWarps
// warps share the taps of a stage. What lies outside is zero, so weights must be finite (depthwise_line_tactic.cpp).
#pragma once

#include "backends/cuda/kernels/depthwise/depthwise_line_parameters.h"
#include "contraction.cuh"

template <int kTapWarps>
struct LineFilter {
  static constexpr int kPack = 4;  // channels that are copied at once
  static constexpr int kPacks = kLineChannels / kPack;
  static constexpr int kBlockPlaces = kLineWarps / kTapWarps * kLinePlaces;
  static constexpr int kBlockTaps = kTapWarps * kLineTaps;
  static constexpr int kPixels = kBlockPlaces + kBlockTaps - 1;
  static constexpr int kLoads = ((kPixels + kBlockTaps) * kPacks + kLineWarps * 32 - 1) / (kLineWarps * 32);
  static constexpr int kBefore = kLinePlaces - 1;  // pixels of the window that the next step reads again
  typedef Pack<X, kPack> Channels;

  float (*pixels)[kLineChannels];
  float (*taps)[kLineChannels];
  int lane, firstPlace, firstTap;  // of this warp, within the block and the stage
  int channel0, column0, row, tapEnd;
  i64 n;
  Channels next[kLoads];
  float sum[kLinePlaces];

  // Of the stage that begins with `tap`; what does not exist is zero.
  __device__ __forceinline__ void fetch(const WindowParameters& p, int tap) {
    const DirectWindow& line = p.window[2];
    const X* const x = (const X*)p.x + n * p.xStride[0] + row * p.xStride[3];
    const int left = column0 - line.before + tap;
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const int load = k * kLineWarps * 32 + (int)threadIdx.x;
      const int at = load / kPacks;
      const int channel = channel0 + load % kPacks * kPack;
      const bool isPixel = at < kPixels;
      const int place = isPixel ? left + at : tap + at - kPixels;
      next[k] = Channels{};
      if (channel >= p.channels || place < 0 || place >= (isPixel ? line.large : tapEnd)) continue;
      next[k] = isPixel ? *(const Channels*)(x + place * p.xStride[4] + channel)
                        : *(const Channels*)((const X*)p.w + (i64)place * p.channels + channel);
    }
  }
  __device__ __forceinline__ void keep() {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const int load = k * kLineWarps * 32 + (int)threadIdx.x;
      const int at = load / kPacks;
      if (at >= kPixels + kBlockTaps) continue;
      Pack<float, kPack> values;
#pragma unroll
      for (int j = 0; j < kPack; ++j) values.e[j] = Element<X>::load(next[k].e[j]);
      float* const to = at < kPixels ? pixels[at] : taps[at - kPixels];
      *(Pack<float, kPack>*)(to + load % kPacks * kPack) = values;
    }
  }

  // kTaps taps from `tap` of the warp's on; `window` are the pixels in front of those that come with them.
  template <int kTaps>
  __device__ __forceinline__ void step(int tap, float (&window)[kBefore]) {
    float pixel[kBefore + kTaps];
    float weight[kTaps];
#pragma unroll
    for (int i = 0; i < kBefore; ++i) pixel[i] = window[i];
#pragma unroll
    for (int i = 0; i < kTaps; ++i) {
      pixel[kBefore + i] = pixels[firstPlace + firstTap + tap + kBefore + i][lane];
      weight[i] = taps[firstTap + tap + i][lane];
    }
#pragma unroll
    for (int i = 0; i < kTaps; ++i) {
#pragma unroll
      for (int k = 0; k < kLinePlaces; ++k) sum[k] += pixel[i + k] * weight[i];
    }
#pragma unroll
    for (int i = 0; i < kBefore; ++i) window[i] = pixel[i + kTaps];
  }
  __device__ __forceinline__ void addStage(int tap) {
    const int there = min(kLineTaps, tapEnd - tap - firstTap);
    if (there <= 0) return;
    float window[kBefore];
#pragma unroll
    for (int i = 0; i < kBefore; ++i) window[i] = pixels[firstPlace + firstTap + i][lane];
    int done = 0;
    for (; done + 16 <= there; done += 16) step<16>(done, window);
    if (there & 8) {
      step<8>(done, window);
      done += 8;
    }
    if (there & 4) {
      step<4>(done, window);
      done += 4;
    }
    for (; done < there; ++done) step<1>(done, window);
  }

  // The sums of warps that share taps, in the first of them; whether this is that one.
  __device__ __forceinline__ bool join() {
    if constexpr (kTapWarps == 1) return true;
    __syncthreads();  // the last stage has been read
    const int part = firstTap / kLineTaps;
    const int first = firstPlace * (kTapWarps - 1);
    if (part > 0) {
#pragma unroll
      for (int k = 0; k < kLinePlaces; ++k) pixels[first + (part - 1) * kLinePlaces + k][lane] = sum[k];
    }
    __syncthreads();
    if (part > 0) return false;
    for (int other = 0; other < kTapWarps - 1; ++other) {
#pragma unroll
      for (int k = 0; k < kLinePlaces; ++k) sum[k] += pixels[first + other * kLinePlaces + k][lane];
    }
    return true;
  }

  template <int kOperands, typename Y, typename Finish>
  __device__ __forceinline__ void store(const WindowParameters& p, Finish finish) {
    const int channel = channel0 + lane;
    if (channel >= p.channels) return;
    const Place place = {n, channel, {0, row, column0 + firstPlace}};
    i64 at[kOperands];
    offsetsOf<kOperands>(p, place, at);
#pragma unroll
    for (int k = 0; k < kLinePlaces; ++k) {
      if (place.s[2] + k < p.window[2].small) ((Y*)p.data[0])[at[0]] = finish(p, at, sum[k]);
#pragma unroll
      for (int operand = 0; operand < kOperands; ++operand) at[operand] += p.stride[operand][4];
    }
  }
};

template <int kTapWarps, int kOperands, typename Y, typename Finish>
__device__ inline void filterLine(const WindowParameters& p, Finish finish) {
  typedef LineFilter<kTapWarps> Filter;
  alignas(16) __shared__ float pixels[Filter::kPixels][kLineChannels];
  alignas(16) __shared__ float taps[Filter::kBlockTaps][kLineChannels];
  Filter filter;
  filter.pixels = pixels;
  filter.taps = taps;
  i64 rest = blockIdx.x;
  filter.channel0 = (int)takeIndex(rest, p.tile.channelTiles) * kLineChannels;
  filter.column0 = (int)takeIndex(rest, p.tile.columnTiles) * Filter::kBlockPlaces;
  filter.row = (int)takeIndex(rest, p.tile.heights);
  filter.n = rest;
  filter.lane = threadIdx.x % 32;
  filter.firstPlace = (int)threadIdx.x / 32 / kTapWarps * kLinePlaces;
  filter.firstTap = (int)threadIdx.x / 32 % kTapWarps * kLineTaps;
  const int channel = filter.channel0 + filter.lane;
  const bool isFirst = filter.firstTap == 0 && p.bias != nullptr && channel < p.channels;
#pragma unroll
  for (int k = 0; k < kLinePlaces; ++k) filter.sum[k] = isFirst ? load<X>(p.bias, channel) : 0.f;
  // Taps that reach into the line from some place of the block.
  const DirectWindow& line = p.window[2];
  filter.tapEnd = (int)min((i64)line.kernel, (i64)line.large + line.before - filter.column0);
  int tap = max(0, line.before - filter.column0 - Filter::kBlockPlaces + 1);
  if (tap < filter.tapEnd) filter.fetch(p, tap);
  for (; tap < filter.tapEnd; tap += Filter::kBlockTaps) {
    __syncthreads();  // the stage before has been read
    filter.keep();
    __syncthreads();
    if (tap + Filter::kBlockTaps < filter.tapEnd) filter.fetch(p, tap + Filter::kBlockTaps);
    filter.addStage(tap);
  }
  if (filter.join()) filter.template store<kOperands, Y>(p, finish);
}
