// Convolution of images of few channels on tensor cores. The product's inner axis is lines of the window (a row of one
// channel), each padded to an even number of taps that begin at an even column: then the two neighbours that a left
// operand holds are one word of the image in shared memory, and no patch is ever made. A block keeps the weights of its
// channels and walks tiles of 8 x 16 places; the next tile's image is asked for before the present one is computed.
// The including text defines X and A, and CHANNELS, ROWS (of the window), TAPS, STRIDE_H, STRIDE_W, PARTS (of 8 channels
// that a block computes: 2, 4 or 8). Zero taps read their neighbours: an infinity there gives NaN.
#pragma once

#include "scalar.cuh"
#include "tensor_core.cuh"

// Mirrors run/image_convolution.h.
struct ImageParameters {
  const X* x;
  const void* w;     // as run/image_convolution.h packs them, pairs of words
  const X* bias;     // or null
  void* data[1];     // y, channels-last
  int height, width;
  int rows, columns;     // of y
  int outputs;           // channels of y, a multiple of 8
  int top, left;         // zeros in front; `left` is even
  int pairs;             // neighbouring columns of x can be read at once
  int tiles;             // of all images
  Divider across, down;  // tiles of a row of tiles, of an image's column
  i64 image, channel, line;  // strides of x
};

constexpr int kTileH = 8;
constexpr int kTileW = 16;
constexpr int kThreads = 128;   // warps of two rows of places
constexpr int kLines = CHANNELS * ROWS;
constexpr int kSteps = (kLines * TAPS + 15) / 16;
constexpr int kPatchH = (kTileH - 1) * STRIDE_H + ROWS;
constexpr int kPairs = ((kTileW - 1) * STRIDE_W + TAPS + 1) / 2;  // of a patch's line
constexpr int kPitch = kPairs + (kPairs % 2 == 0);                // in words
constexpr int kCopies = STRIDE_W % 2 == 0 ? 1 : 2;                // the second begins a column later
constexpr int kCopy = CHANNELS * kPatchH * kPitch;                // words
constexpr int kWords = CHANNELS * kPatchH * kPairs;
constexpr int kLoads = (kWords + kThreads - 1) / kThreads;        // of a thread
constexpr int kGroup = PARTS < 4 ? PARTS : 4;                     // parts whose channels lie together in a lane
constexpr int kWeightBytes = kSteps * PARTS * 32 * 8;
// As in run/image_convolution.cpp.
constexpr int kSharedBytes = kWeightBytes + kCopies * kCopy * 4;

// The first of a lane's 2 * kGroup channels of a group of parts.
__device__ __forceinline__ int laneChannel(int part, int lane) { return part / kGroup * 8 * kGroup + lane % 4 * 2 * kGroup; }

struct Tile {
  int n, row, column;  // of y
  __device__ __forceinline__ Tile(const ImageParameters& p, unsigned index) {
    const unsigned line = p.across.quotient(index);
    column = (int)(index - line * p.across.divisor) * kTileW;
    n = (int)p.down.quotient(line);
    row = (int)(line - n * p.down.divisor) * kTileH;
  }
};

// A tile's part of the image, on its way to shared memory.
struct Patch {
  unsigned word[kLoads];

  __device__ __forceinline__ void load(const ImageParameters& p, const Tile& tile) {
    const X* const image = p.x + tile.n * p.image;
    const int top = tile.row * STRIDE_H - p.top;
    const int left = tile.column * STRIDE_W - p.left;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int index = i * kThreads + threadIdx.x;
      const int line = index / kPairs;
      const int channel = line / kPatchH;
      const int y = top + line - channel * kPatchH;
      const int x = left + 2 * (index - line * kPairs);
      word[i] = 0;
      if (index >= kWords || y < 0 || y >= p.height) continue;
      const X* const from = image + channel * p.channel + y * p.line + x;
      if (p.pairs) {
        if (x >= 0 && x < p.width) word[i] = *(const unsigned*)from;
      } else {
        if (x >= 0 && x < p.width) word[i] = from[0].bits;
        if (x >= -1 && x + 1 < p.width) word[i] |= (unsigned)from[1].bits << 16;
      }
    }
  }
  __device__ __forceinline__ void store(unsigned* shared) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int index = i * kThreads + threadIdx.x;
      const int line = index / kPairs;
      const int pair = index - line * kPairs;
      if (index >= kWords) continue;
      shared[line * kPitch + pair] = word[i];
      if (kCopies == 1) continue;
      unsigned short* const late = (unsigned short*)(shared + kCopy + line * kPitch) + 2 * pair;
      if (pair > 0) late[-1] = (unsigned short)word[i];
      late[0] = (unsigned short)(word[i] >> 16);
    }
  }
};

// Where the window's element k lies in a patch, in words from the place's own; padding stands at the first.
__device__ __forceinline__ int wordOf(int k) {
  const int line = k / TAPS;
  if (line >= kLines) return 0;
  return (line / ROWS * kPatchH + line % ROWS) * kPitch + k % TAPS / 2;
}

template <int kOperands, typename Y, typename Finish>
__device__ inline void convolveImage(const ImageParameters& p, Finish finish) {
  DYNAMIC_SHARED(memory, kSharedBytes);
  Pack<unsigned, 2>* const weights = (Pack<unsigned, 2>*)memory;
  unsigned* const patch = (unsigned*)(memory + kWeightBytes);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int firstChannel = blockIdx.y * 8 * PARTS;
  for (int i = threadIdx.x; i < kSteps * PARTS * 32; i += kThreads) {
    weights[i] = ((const Pack<unsigned, 2>*)p.w)[blockIdx.y * (kSteps * PARTS * 32) + i];
  }
  float start[PARTS][2];
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int channel = firstChannel + laneChannel(part, lane) + part % kGroup * 2 + e;
      start[part][e] = p.bias != nullptr && channel < p.outputs ? load<X>(p.bias, channel) : 0.f;
    }
  }
  const int shift = lane / 4 * STRIDE_W % 2;  // an odd first column is an even one of the second copy
  const unsigned* const own = patch + shift * kCopy + warp * 2 * STRIDE_H * kPitch + (lane / 4 * STRIDE_W - shift) / 2;

  Patch next;
  unsigned index = blockIdx.x;
  if (index < (unsigned)p.tiles) next.load(p, Tile(p, index));
  for (; index < (unsigned)p.tiles; index += gridDim.x) {
    __syncthreads();  // the weights stand; the patch before is no longer read
    next.store(patch);
    __syncthreads();
    if (index + gridDim.x < (unsigned)p.tiles) next.load(p, Tile(p, index + gridDim.x));
    float sum[2][PARTS][4];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[row][part][i] = start[part][i % 2];
      }
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int low = wordOf(step * 16 + lane % 4 * 2);
      const int high = wordOf(step * 16 + lane % 4 * 2 + 8);
      unsigned a[2][4];
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        const unsigned* const at = own + row * STRIDE_H * kPitch;
        a[row][0] = at[low];
        a[row][1] = at[low + 4 * STRIDE_W];  // 8 places on
        a[row][2] = at[high];
        a[row][3] = at[high + 4 * STRIDE_W];
      }
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
        const auto b = weights[(step * PARTS + part) * 32 + lane];
#pragma unroll
        for (int row = 0; row < 2; ++row) multiplyAdd<X>(sum[row][part], a[row], b.e[0], b.e[1]);
      }
    }
    const Tile tile(p, index);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const int y = tile.row + warp * 2 + row;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int x = tile.column + lane / 4 + 8 * half;
        if (y >= p.rows || x >= p.columns) continue;
        Y* const to = (Y*)p.data[0] + (((i64)tile.n * p.rows + y) * p.columns + x) * p.outputs;
#pragma unroll
        for (int part = 0; part < PARTS; part += kGroup) {
          const int channel = firstChannel + laneChannel(part, lane);
          if (channel >= p.outputs) continue;
          Pack<Y, 2 * kGroup> result;
#pragma unroll
          for (int i = 0; i < 2 * kGroup; ++i) {
            result.e[i] = finish(p, nullptr, sum[row][part + i / 2][2 * half + i % 2]);
          }
          *(Pack<Y, 2 * kGroup>*)(to + channel) = result;
        }
      }
    }
  }
}
