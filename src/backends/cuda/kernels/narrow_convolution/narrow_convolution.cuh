// Pointwise (1x1) convolutions of few channels, channels-last: matmuls of very many rows with a matrix that
// shared memory holds whole. A warp walks tiles of rows by itself. Neither operand keeps its order: what a lane
// multiplies are neighbouring channels of its rows, so that it reads 16 bytes at once where there are so many, and what
// it sums are neighbouring channels of the result; the weights lie accordingly (narrow_convolution.h).
// The including text defines X, A, and of Finish: the epilogue's inputs of a run of channels, and the epilogue.
#pragma once

#include "backends/cuda/kernels/narrow_convolution/narrow_convolution_parameters.h"
#include "scalar.cuh"
#include "tensor_core.cuh"

// Where Y is no half, one of those, so that the code for halves compiles.
template <typename T>
struct Halves {
  typedef f16 Type;
};
template <>
struct Halves<bf16> {
  typedef bf16 Type;
};

// kIn, kOut: channels, multiples of 8. kGroup: of kOut that a block computes, a multiple of 32 or kOut. kTiles: of 16
// rows that a warp computes at once. kGathers: whole rows of the result, which are halves, are gathered in shared
// memory and written as one piece; then kGroup is kOut. Otherwise lanes write their own neighbours, up to 16 bytes of
// halves.
template <int kIn, int kOut, int kGroup, int kTiles, int kWarps, bool kGathers, typename Y, typename Finish>
struct NarrowConvolution {
  static const int kSteps = (kIn + 15) / 16;
  static const int kRest = kIn % 32;
  static const int kRows = 16 * kTiles;
  static const int kThreads = 32 * kWarps;
  static const int kLast = kOut - (kOut - 1) / kGroup * kGroup;     // channels of the last group
  static const int kPerRow = kOut / 8;                              // parts of 8 channels
  static const int kParts = kRows * kPerRow;                        // of a tile
  static const int kGatherBytes = kGathers ? kRows * kOut * 2 : 0;  // of a warp
  static const int kSwap = kOut % 64 == 0 ? 4 : 0;                  // halves of 128 bytes change places in odd rows
  static const int kWeightBytes = kSteps * kGroup * 32;
  static const int kSharedBytes = kWeightBytes + kGroup * 4 + kWarps * kGatherBytes;
  static_assert(!kGathers || (sizeof(Y) == 2 && kGroup == kOut), "whole rows of halves are gathered");

  struct Left {
    unsigned a[kTiles][kSteps][4];

    template <int kCount>
    __device__ __forceinline__ void loadPart(int tile, int step, const X* from, bool lowInside, bool highInside) {
      Pack<unsigned, kCount> low = {};
      Pack<unsigned, kCount> high = {};
      if (lowInside) low = *(const Pack<unsigned, kCount>*)from;
      if (highInside) high = *(const Pack<unsigned, kCount>*)(from + 8 * kIn);
#pragma unroll
      for (int i = 0; i < (kCount + 1) / 2; ++i) {
        a[tile][step + i][0] = low.e[2 * i];
        a[tile][step + i][1] = high.e[2 * i];
        a[tile][step + i][2] = kCount == 1 ? 0 : low.e[2 * i + (kCount > 1)];
        a[tile][step + i][3] = kCount == 1 ? 0 : high.e[2 * i + (kCount > 1)];
      }
    }
    __device__ __forceinline__ void load(const NarrowParameters& p, int first) {
      const int t = threadIdx.x % 4;
      const int row = first + threadIdx.x % 32 / 4;
      const X* const own = (const X*)p.x + (i64)row * kIn;
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const bool low = row < p.rows - 16 * tile;
        const bool high = row < p.rows - 16 * tile - 8;
        const X* const from = own + 16 * tile * kIn;
#pragma unroll
        for (int c = 0; c + 32 <= kIn; c += 32) loadPart<4>(tile, c / 16, from + c + 8 * t, low, high);
        const int c = kIn - kRest;
        if (kRest == 24) loadPart<4>(tile, c / 16, from + c + 8 * t, low && t < 3, high && t < 3);
        if (kRest == 16) loadPart<2>(tile, c / 16, from + c + 4 * t, low, high);
        if (kRest == 8) loadPart<1>(tile, c / 16, from + c + 2 * t, low, high);
      }
    }
  };

  // Values of neighbouring channels as Y.
  template <int kWidth>
  __device__ __forceinline__ static void put(void* to, const float (&value)[kWidth]) {
    if (sizeof(Y) == 2) {
      Pack<unsigned, kWidth / 2> words;
#pragma unroll
      for (int i = 0; i < kWidth / 2; ++i) {
        words.e[i] = packed<typename Halves<Y>::Type>(value[2 * i], value[2 * i + 1]);
      }
      *(Pack<unsigned, kWidth / 2>*)to = words;
    } else {
      constexpr int kAtOnce = kWidth < 4 ? kWidth : 4;
#pragma unroll
      for (int i = 0; i < kWidth; i += kAtOnce) {
        Pack<float, kAtOnce> some;
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) some.e[k] = value[i + k];
        *(Pack<float, kAtOnce>*)((float*)to + i) = some;
      }
    }
  }

  // Results of 8 kUnit channels from `channel` on.
  template <int kUnit>
  __device__ __forceinline__ static void computeUnit(const NarrowParameters& p, const Left& left,
                                                     const unsigned* weights, const float* start, int first,
                                                     int channel, unsigned char* gathered) {
    constexpr int kWidth = 2 * kUnit;
    constexpr int kAtOnce = kUnit == 1 ? 2 : 4;  // words
    const int lane = threadIdx.x % 32;
    const int row = first + lane / 4;
    const int own = channel + lane % 4 * kWidth;
    const i64 offset = (i64)row * kOut + own;
    typename Finish::template Inputs<kWidth> inputs[kTiles][2];
#pragma unroll
    for (int line = 0; line < kRows; line += 8) {
      if (row < p.rows - line) Finish::load(p, offset + line * kOut, own, inputs[line / 16][line / 8 % 2]);
    }
    float sum[kTiles][kUnit][4];
    const auto from = *(const Pack<float, kWidth>*)(start + lane % 4 * kWidth);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4 * kUnit; ++i) sum[tile][i / 4][i % 4] = from.e[i / 4 * 2 + i % 2];
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      unsigned b[2 * kUnit];
#pragma unroll
      for (int i = 0; i < 2 * kUnit; i += kAtOnce) {
        const auto some = *(const Pack<unsigned, kAtOnce>*)(weights + step * 64 * kUnit + i * 32 + lane * kAtOnce);
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) b[i + k] = some.e[k];
      }
#pragma unroll
      for (int part = 0; part < kUnit; ++part) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          multiplyAdd<X>(sum[tile][part], left.a[tile][step], b[2 * part], b[2 * part + 1]);
        }
      }
    }
#pragma unroll
    for (int line = 0; line < kRows; line += 8) {
      float value[kWidth];
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        value[i] = Finish::compute(sum[line / 16][i / 2][line / 8 % 2 * 2 + i % 2], inputs[line / 16][line / 8 % 2], i);
      }
      if (kGathers) {
        put(gathered + (line + lane / 4) * kOut * 2 + (own * 2 ^ lane / 4 % 2 * kSwap * 16), value);
      } else if (row < p.rows - line) {
        put((Y*)p.data[0] + offset + line * kOut, value);
      }
    }
  }

  // Every channel of the block's group.
  __device__ __forceinline__ static void computeTile(const NarrowParameters& p, const Left& left,
                                                     const unsigned char* shared, int first, unsigned char* gathered) {
    const unsigned* const weights = (const unsigned*)shared;
    const float* const start = (const float*)(shared + kWeightBytes);
    const int firstChannel = blockIdx.y * kGroup;
    const bool isLast = blockIdx.y == gridDim.y - 1;
    const int units = (isLast ? kLast : kGroup) / 32;
#pragma unroll 1
    for (int unit = 0; unit < units; ++unit) {
      const int at = 32 * unit;
      computeUnit<4>(p, left, weights + at * kSteps * 8, start + at, first, firstChannel + at, gathered);
    }
    constexpr int kTail = kOut % 32;
    constexpr int kTailAt = kLast / 32 * 32;  // of the last group
    if (kTail >= 16 && isLast) {
      computeUnit<2>(p, left, weights + kTailAt * kSteps * 8, start + kTailAt, first, kOut - kTail, gathered);
    }
    if (kTail % 16 == 8 && isLast) {
      constexpr int kAt = kTailAt + kTail / 16 * 16;
      computeUnit<1>(p, left, weights + kAt * kSteps * 8, start + kAt, first, kOut - 8, gathered);
    }
  }

  __device__ __forceinline__ static void writeGathered(const NarrowParameters& p, int first,
                                                       const unsigned char* gathered) {
    typedef Pack<unsigned, 4> Some;
    const int count = p.rows - first < kRows ? (p.rows - first) * kPerRow : kParts;
    Some* const to = (Some*)((Y*)p.data[0] + (i64)first * kOut);
#pragma unroll
    for (int k = 0; k < kParts; k += 32) {
      const int part = k + threadIdx.x % 32;
      if (part < count) to[part] = ((const Some*)gathered)[part ^ (part / kPerRow % 2 * kSwap)];
    }
  }

  __device__ __forceinline__ static void run(const NarrowParameters& p) {
    DYNAMIC_SHARED(memory, kSharedBytes);
    const int warp = threadIdx.x / 32;
    const int firstChannel = blockIdx.y * kGroup;
    const int bytes = kSteps * (blockIdx.y == gridDim.y - 1 ? kLast : kGroup) * 32;
    // No launch writes the weights: they may come before what the rows wait for.
#pragma unroll 1
    for (int i = threadIdx.x * 16; i < bytes; i += kThreads * 16) {
      copyAsync(memory + i, (const unsigned char*)p.w + blockIdx.y * kWeightBytes + i, true);
    }
    closeCopies();
    afterPredecessor();
    const int advance = gridDim.x * kWarps * kRows;
    int first = (blockIdx.x * kWarps + warp) * kRows;
    Left left;
    left.load(p, first);
#pragma unroll 1
    for (int i = threadIdx.x; i < kGroup; i += kThreads) {
      const bool has = p.bias != nullptr && firstChannel + i < kOut;
      ((float*)(memory + kWeightBytes))[i] = has ? load<X>(p.bias, firstChannel + i) : 0.f;
    }
    waitForCopies<0>();
    __syncthreads();
    unsigned char* const gathered = memory + kWeightBytes + kGroup * 4 + warp * kGatherBytes;
#pragma unroll 1
    for (; first < p.rows; first += advance) {
      computeTile(p, left, memory, first, gathered);
      left.load(p, first + advance);
      if (!kGathers) continue;
      syncWarp();
      writeGathered(p, first, gathered);
      syncWarp();
    }
  }
};
