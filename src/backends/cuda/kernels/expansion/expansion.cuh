// y = window(expand(x)): a pointwise (1x1) convolution and a depthwise convolution of its result, channels-last,
// halves. A block takes a tile of results of a slice of the channels: the pixels of x that it needs come to shared
// memory, tensor cores expand them there, and the windows are summed from what stands there in halves. Pixels outside
// the image are zeros of the expanded image, not of x. The including text defines X and the two functions of Finish.
#pragma once

#include "backends/cuda/kernels/expansion/expansion_parameters.h"
#include "scalar.cuh"
#include "tensor_core.cuh"

// kIn: channels of x, a multiple of 8. kHeight, kWidth: of the window. kSlice: channels of a block, a multiple of 8.
template <int kIn, int kHeight, int kWidth, int kStride, int kTileRows, int kTileColumns, int kSlice, int kThreads,
          typename Finish>
struct Expansion {
  static const int kRowsIn = (kTileRows - 1) * kStride + kHeight;
  static const int kColumnsIn = (kTileColumns - 1) * kStride + kWidth;
  static const int kPixels = kRowsIn * kColumnsIn;
  static const int kTiles = (kPixels + 15) / 16;
  static const int kSteps = (kIn + 15) / 16;
  static const int kInPitch = kSteps * 16 + 8;  // halves; rows of matrices lie in different banks
  static const int kPitch = kSlice + 8;
  static const int kParts = kSlice / 8;
  static const int kPairs = kSlice / 2;
  static const int kTaps = kHeight * kWidth;
  // Where things begin in shared memory, in bytes: the pixels are at 0.
  static const int kWeightsAt = kTiles * 16 * kInPitch * 2;
  static const int kExpandedAt = kWeightsAt + kSlice * kInPitch * 2;
  static const int kTapsAt = kExpandedAt + kTiles * 16 * kPitch * 2;
  static const int kBiasesAt = kTapsAt + kTaps * kSlice * 4;
  static const int kSharedBytes = kBiasesAt + 2 * kSlice * 4;

  const ExpansionParameters& p;
  unsigned char* shared;
  int firstChannel, firstRow, firstColumn;  // of the results
  int top, left;                            // of the pixels

  __device__ __forceinline__ Expansion(const ExpansionParameters& parameters, unsigned char* memory)
      : p(parameters), shared(memory) {
    firstChannel = blockIdx.x * kSlice;
    const int row = blockIdx.y / p.tilesOfRow;
    firstRow = row * kTileRows;
    firstColumn = ((int)blockIdx.y - row * p.tilesOfRow) * kTileColumns;
    top = firstRow * kStride - p.top;
    left = firstColumn * kStride - p.left;
  }
  __device__ __forceinline__ X* pixels() const { return (X*)shared; }
  __device__ __forceinline__ X* weights() const { return (X*)(shared + kWeightsAt); }
  __device__ __forceinline__ X* expanded() const { return (X*)(shared + kExpandedAt); }
  __device__ __forceinline__ float* taps() const { return (float*)(shared + kTapsAt); }
  __device__ __forceinline__ float* biases() const { return (float*)(shared + kBiasesAt); }

  __device__ __forceinline__ bool isInside(int pixel) const {
    const int y = top + pixel / kColumnsIn;
    const int x = left + pixel % kColumnsIn;
    return pixel < kPixels && y >= 0 && y < p.height && x >= 0 && x < p.width;
  }

  // Constants, which no launch writes.
  __device__ __forceinline__ void fetchWeights() const {
    constexpr int kPacks = kIn / 8;
#pragma unroll 1
    for (int i = threadIdx.x; i < kSlice * kPacks; i += kThreads) {
      const int channel = i / kPacks;
      const int pack = i % kPacks;
      copyAsync(weights() + channel * kInPitch + pack * 8,
                (const X*)p.expand + (i64)(firstChannel + channel) * kIn + pack * 8, true);
    }
    closeCopies();
#pragma unroll 1
    for (int i = threadIdx.x * 8; i < kSlice * kTaps; i += kThreads * 8) {
      const Pack<X, 8> some = *(const Pack<X, 8>*)((const X*)p.window + firstChannel * kTaps + i);
#pragma unroll
      for (int e = 0; e < 8; ++e) taps()[(i + e) % kTaps * kSlice + (i + e) / kTaps] = Element<X>::load(some.e[e]);
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < kSlice; i += kThreads) {
      biases()[i] = p.expandBias != nullptr ? load<X>(p.expandBias, firstChannel + i) : 0.f;
      biases()[kSlice + i] = p.windowBias != nullptr ? load<X>(p.windowBias, firstChannel + i) : 0.f;
    }
    if (kIn % 16 != 0) {
      // Tensor cores take whole steps.
      const Pack<unsigned, 4> zeros = {};
#pragma unroll 1
      for (int i = threadIdx.x; i < kTiles * 16 + kSlice; i += kThreads)
        *(Pack<unsigned, 4>*)((i < kTiles * 16 ? pixels() + i * kInPitch : weights() + (i - kTiles * 16) * kInPitch) +
                              kIn) = zeros;
    }
  }
  __device__ __forceinline__ void fetchPixels() const {
    constexpr int kPacks = kIn / 8;
    const X* const image = (const X*)p.x + (i64)blockIdx.z * p.height * p.width * kIn;
#pragma unroll 4
    for (int i = threadIdx.x; i < kPixels * kPacks; i += kThreads) {
      const int pixel = i / kPacks;
      const int pack = i % kPacks;
      const bool inside = isInside(pixel);
      const int place = inside ? (top + pixel / kColumnsIn) * p.width + left + pixel % kColumnsIn : 0;
      copyAsync(pixels() + pixel * kInPitch + pack * 8, image + (i64)place * kIn + pack * 8, inside);
    }
    closeCopies();
  }

  __device__ __forceinline__ void expand() const {
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int tile = threadIdx.x / 32; tile < kTiles; tile += kThreads / 32) {
      float sum[kParts][4] = {};
      const X* const left16 = pixels() + (tile * 16 + lane % 16) * kInPitch + lane / 16 * 8;
#pragma unroll 2
      for (int step = 0; step < kSteps; ++step) {
        unsigned a[4];
        loadMatrices(a, left16 + step * 16);
#pragma unroll
        for (int part = 0; part < kParts; part += 2) {
          const bool isPair = part + 1 < kParts;
          unsigned b[4];
          const int channel = part * 8 + (isPair ? lane / 16 * 8 : 0) + lane % 8;
          loadMatrices(b, weights() + channel * kInPitch + step * 16 + lane / 8 % 2 * 8);
          multiplyAdd<X>(sum[part], a, b[0], b[1]);
          if (isPair) multiplyAdd<X>(sum[part + 1 < kParts ? part + 1 : part], a, b[2], b[3]);
        }
      }
      const int pair = lane % 4 * 2;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int pixel = tile * 16 + lane / 4 + half * 8;
        const bool inside = isInside(pixel);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          const int channel = part * 8 + pair;
          const float low = Finish::expand(sum[part][2 * half] + biases()[channel]);
          const float high = Finish::expand(sum[part][2 * half + 1] + biases()[channel + 1]);
          *(unsigned*)(expanded() + pixel * kPitch + channel) = inside ? packed<X>(low, high) : 0u;
        }
      }
    }
  }

  __device__ __forceinline__ void window() const {
    constexpr int kLanes = kThreads / kPairs;
    const int lane = threadIdx.x / kPairs;
    const int channel = threadIdx.x % kPairs * 2;
    if (lane >= kLanes) return;
    float low[kTaps];
    float high[kTaps];
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      low[tap] = taps()[tap * kSlice + channel];
      high[tap] = taps()[tap * kSlice + channel + 1];
    }
    const float lowBias = biases()[kSlice + channel];
    const float highBias = biases()[kSlice + channel + 1];
    X* const to = (X*)p.y + (i64)blockIdx.z * p.rows * p.columns * p.channels + firstChannel + channel;
#pragma unroll 1
    for (int result = lane; result < kTileRows * kTileColumns; result += kLanes) {
      const int row = result / kTileColumns;
      const int column = result % kTileColumns;
      if (firstRow + row >= p.rows || firstColumn + column >= p.columns) continue;
      const X* const from = expanded() + (row * kStride * kColumnsIn + column * kStride) * kPitch + channel;
      float lowSum = 0.f;
      float highSum = 0.f;
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) {
        const Pack<X, 2> some = *(const Pack<X, 2>*)(from + (tap / kWidth * kColumnsIn + tap % kWidth) * kPitch);
        lowSum += Element<X>::load(some.e[0]) * low[tap];
        highSum += Element<X>::load(some.e[1]) * high[tap];
      }
      const int place = (firstRow + row) * p.columns + firstColumn + column;
      *(unsigned*)(to + (i64)place * p.channels) =
          packed<X>(Finish::window(lowSum + lowBias), Finish::window(highSum + highBias));
    }
  }

  __device__ __forceinline__ void run() const {
    fetchWeights();
    afterPredecessor();
    fetchPixels();
    waitForCopies<0>();
    __syncthreads();
    expand();
    __syncthreads();
    window();
  }
};
