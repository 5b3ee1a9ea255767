// Implicit-GEMM convolution of f32 images of few channels on tensor cores, in TF32 or by three products of TF32
// numbers. K is lines of the window (a row of one channel), each padded to whole runs of four taps: then what a left
// operand holds lies at constant distances from a place's first pixel in shared memory, and no patch is ever made. A
// block keeps the weights of its channels and walks tiles of 8 x 16 places; the next tile's image is asked for before
// the present one is computed. The including text defines X and A, and CHANNELS, ROWS (of the window), TAPS, STRIDE_H,
// STRIDE_W, PARTS (of 8 channels that a block computes), EXACT (f32 as it is). Zero taps read their neighbours: an
// infinity there gives NaN.
#pragma once

#include "backends/cuda/kernels/image_convolution/image_convolution_parameters.h"
#include "scalar.cuh"
#include "tensor_core.cuh"

constexpr int kTileH = kImageTileRows;
constexpr int kTileW = kImageTileColumns;
constexpr int kThreads = kImageThreads;
constexpr int kRunsOfLine = TAPS / 4;
constexpr int kRuns = CHANNELS * ROWS * kRunsOfLine;
constexpr int kSteps = (kRuns + 1) / 2;
constexpr int kPatchH = (kTileH - 1) * STRIDE_H + ROWS;
constexpr int kPatchW = (kTileW - 1) * STRIDE_W + TAPS;
constexpr int kWords = CHANNELS * kPatchH * kPatchW;
constexpr int kLoads = (kWords + kThreads - 1) / kThreads;  // of a thread
constexpr int kGroup = kFloatImageGroup;                    // parts whose channels lie together in a lane
constexpr int kChain = 2;  // steps in one chain of products, each of which tensor cores round towards zero
constexpr int kWeightBytes = kSteps * PARTS * 32 * (EXACT != 0 ? 16 : 8);
constexpr int kSharedBytes = kWeightBytes + kWords * 4;  // as FloatImageForm::sharedBytes() says

struct Tile {
  int n, row, column;  // of y
  __device__ __forceinline__ Tile(const ImageParameters& p, unsigned index) {
    const unsigned line = index / p.across;
    column = (int)(index - line * p.across.divisor) * kTileW;
    n = (int)(line / p.down);
    row = (int)(line - n * p.down.divisor) * kTileH;
  }
};

// A tile's part of the image, on its way to shared memory.
struct Patch {
  f32 pixel[kLoads];

  __device__ __forceinline__ void load(const ImageParameters& p, const Tile& tile) {
    const int top = tile.row * STRIDE_H - p.top;
    const int left = tile.column * STRIDE_W - p.left;
    const f32* const image = (const f32*)p.x + tile.n * p.image;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int index = i * kThreads + threadIdx.x;
      const int line = index / kPatchW;
      const unsigned y = top + line % kPatchH;
      const unsigned x = left + index - line * kPatchW;
      const bool isThere = index < kWords && y < (unsigned)p.height && x < (unsigned)p.width;
      pixel[i] = isThere ? image[line / kPatchH * (unsigned)p.channel + y * p.line + x] : 0.f;
    }
  }
  __device__ __forceinline__ void store(unsigned* shared) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int index = i * kThreads + threadIdx.x;
      if (index < kWords) shared[index] = EXACT != 0 ? bitsOf(pixel[i]) : roundedToTf32(bitsOf(pixel[i]));
    }
  }
};

// Where a run of four taps lies in a patch, from the place's first pixel; the one behind the last stands at the first.
__device__ __forceinline__ constexpr int wordOf(int run) {
  const int line = run / kRunsOfLine;
  return run >= kRuns ? 0 : (line / ROWS * kPatchH + line % ROWS) * kPatchW + run % kRunsOfLine * 4;
}

typedef float Sums[2][PARTS][4];  // a warp's two rows of places by the block's channels

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
      sums[row][part][0] = sums[row][part][1] = sums[row][part][2] = sums[row][part][3] = 0.f;
  }
}
__device__ __forceinline__ void add(Sums& to, const Sums& sums) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
#pragma unroll
      for (int i = 0; i < 4; ++i) to[row][part][i] += sums[row][part][i];
    }
  }
}

// The left operand of a step for one row of places.
__device__ __forceinline__ void loadStep(unsigned (&a)[4], const unsigned* own, int step) {
  const int low = wordOf(2 * step), high = wordOf(2 * step + 1);
  a[0] = own[low];
  a[1] = own[low + 8 * STRIDE_W];  // 8 places on
  a[2] = own[high];
  a[3] = own[high + 8 * STRIDE_W];
}
// sums += what the patch and the weights give; `own`: of the patch.
__device__ __forceinline__ void multiply(Sums& sums, const unsigned* own, const unsigned char* memory) {
  const auto* const weights = (const Pack<unsigned, 2>*)memory + threadIdx.x % 32;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    unsigned a[2][4];
#pragma unroll
    for (int row = 0; row < 2; ++row) loadStep(a[row], own + row * STRIDE_H * kPatchW, step);
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const auto b = weights[(step * PARTS + part) * 32];
#pragma unroll
      for (int row = 0; row < 2; ++row) multiplyRounded(sums[row][part], a[row], b.e[0], b.e[1]);
    }
  }
}
// The same of f32 as it is: products with rests have sums of their own, which stay small.
__device__ __forceinline__ void multiplyExactly(Sums& sums, const unsigned* own, const unsigned char* memory) {
  const auto* const weights = (const Pack<unsigned, 4>*)memory + threadIdx.x % 32;
  Sums rests, chain;
  clear(rests);
  clear(chain);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    unsigned a[2][4], rest[2][4];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      loadStep(rest[row], own + row * STRIDE_H * kPatchW, step);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[row][i] = roundedToTf32(rest[row][i]);
        rest[row][i] = restOfTf32(rest[row][i], a[row][i]);
      }
    }
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const auto b = weights[(step * PARTS + part) * 32];  // rounded, then rests
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        multiplyRounded(rests[row][part], rest[row], b.e[0], b.e[1]);
        multiplyRounded(rests[row][part], a[row], b.e[2], b.e[3]);
        multiplyRounded(chain[row][part], a[row], b.e[0], b.e[1]);
      }
    }
    if (step % kChain != kChain - 1 && step + 1 != kSteps) continue;
    add(sums, chain);
    clear(chain);
  }
  add(sums, rests);
}

template <int kOperands, typename Y, typename Finish>
__device__ inline void convolveFloatImage(const ImageParameters& p, Finish finish) {
  DYNAMIC_SHARED(memory, kSharedBytes);
  unsigned* const patch = (unsigned*)(memory + kWeightBytes);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const char* const from = (const char*)p.w + blockIdx.y * kWeightBytes;
#pragma unroll 1
  for (int i = threadIdx.x * 16; i < kWeightBytes; i += kThreads * 16) copyAsync(memory + i, from + i, true);
  closeCopies();
  // The first of a lane's 2 * kGroup channels of a group of parts.
  const int firstChannel = blockIdx.y * 8 * PARTS + lane % 4 * 2 * kGroup;
  const auto channelOf = [&](int part) { return firstChannel + part / kGroup * 8 * kGroup + part % kGroup * 2; };
  const unsigned* const own = patch + warp * 2 * STRIDE_H * kPatchW + lane / 4 * STRIDE_W + lane % 4;
  const unsigned tiles = p.tiles;
  Tile following(p, blockIdx.x);
  Patch next;
  next.load(p, following);
#pragma unroll 1
  for (unsigned index = blockIdx.x; index < tiles;) {
    waitForCopies<0>();
    __syncthreads();  // the weights stand; the patch before is no longer read
    next.store(patch);
    __syncthreads();
    const Tile tile = following;
    index += gridDim.x;
    if (index < tiles) {
      following = Tile(p, index);
      next.load(p, following);
    }
    Sums sums;
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int channel = channelOf(part) + e;
        const float start = p.bias != nullptr && channel < p.outputs ? load<X>(p.bias, channel) : 0.f;
        sums[0][part][e] = sums[0][part][2 + e] = sums[1][part][e] = sums[1][part][2 + e] = start;
      }
    }
    if (EXACT != 0) multiplyExactly(sums, own, memory);
    else multiply(sums, own, memory);
    const int firstRow = tile.row + warp * 2;
    const int firstColumn = tile.column + lane / 4;
    Y* const place = (Y*)p.data[0] + (((i64)tile.n * p.rows + firstRow) * p.columns + firstColumn) * p.outputs;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (firstRow + row >= p.rows || firstColumn + 8 * half >= p.columns) continue;
        Y* const to = place + (row * p.columns + half * 8) * p.outputs;
#pragma unroll
        for (int part = 0; part < PARTS; part += kGroup) {
          if (channelOf(part) >= p.outputs) continue;
          Pack<Y, 2 * kGroup> result;
#pragma unroll
          for (int i = 0; i < 2 * kGroup; ++i)
            result.e[i] = finish(p, nullptr, sums[row][part + i / 2][2 * half + i % 2]);
          *(Pack<Y, 2 * kGroup>*)(to + channelOf(part)) = result;
        }
      }
    }
  }
}
