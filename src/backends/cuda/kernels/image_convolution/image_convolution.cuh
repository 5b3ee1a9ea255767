// Implicit-GEMM convolution of images of few channels on tensor cores. K is lines of the window (a row of one
// channel), each padded to an even number of taps that begin at an even column: then the two neighbours that a left
// operand holds are one word of the image in shared memory, and no patch is ever made. A block keeps the weights of its
// channels and walks tiles of 8 x 16 places; the next tile's image is asked for before the present one is computed. A
// block of 64 channels multiplies as a warpgroup, with weights as rows of warp_group.cuh; of fewer, warps do by
// themselves. The including text defines X and A, and FROM (the type of the image: X, or f32, which NARROW rounds pairs
// of to X), CHANNELS, ROWS (of the window), TAPS, STRIDE_H, STRIDE_W, PARTS (of 8 channels that a block computes: 2, 4
// or 8). Zero taps read their neighbours: an infinity there gives NaN.
#pragma once

#include "backends/cuda/kernels/image_convolution/image_convolution_parameters.h"
#include "scalar.cuh"
#include "warp_group.cuh"

constexpr int kTileH = kImageTileRows;
constexpr int kTileW = kImageTileColumns;
constexpr int kThreads = kImageThreads;
constexpr int kLines = CHANNELS * ROWS;
constexpr int kSteps = (kLines * TAPS + 15) / 16;
constexpr int kPatchH = (kTileH - 1) * STRIDE_H + ROWS;
constexpr int kPairs = ((kTileW - 1) * STRIDE_W + TAPS + 1) / 2;  // of a patch's line
constexpr int kPitch = kPairs + (kPairs % 2 == 0);                // in words
constexpr int kCopies = STRIDE_W % 2 == 0 ? 1 : 2;                // the second begins a column later
constexpr int kCopy = CHANNELS * kPatchH * kPitch;                // words
constexpr int kWords = CHANNELS * kPatchH * kPairs;
constexpr int kLoads = (kWords + kThreads - 1) / kThreads;  // of a thread
constexpr int kWholeLoads = kWords / kThreads;              // those of every thread
constexpr int kGroup = PARTS < 4 ? PARTS : 4;               // parts whose channels lie together in a lane
constexpr bool kByGroup = PARTS == kImageGroupParts;
constexpr int kStepsOfRow = 4;  // of the rows of weights, one for each channel; so many are computed at once
constexpr int kPanelBytes = 8 * PARTS * kStepsOfRow * 32;
constexpr int kWeightBytes =
    kByGroup ? (kSteps + kStepsOfRow - 1) / kStepsOfRow * kPanelBytes : kSteps * PARTS * 32 * 8;
// As ImageForm::sharedBytes() says.
constexpr int kSharedBytes = kWeightBytes + kCopies * kCopy * 4;

// The first of a lane's 2 * kGroup channels of a group of parts.
__device__ __forceinline__ int laneChannel(int part, int lane) {
  return part / kGroup * 8 * kGroup + lane % 4 * 2 * kGroup;
}

struct Tile {
  int n, row, column;  // of y
  Tile() = default;
  __device__ __forceinline__ Tile(const ImageParameters& p, unsigned index) {
    const unsigned line = index / p.across;
    column = (int)(index - line * p.across.divisor) * kTileW;
    n = (int)(line / p.down);
    row = (int)(line - n * p.down.divisor) * kTileH;
  }
};

// Two neighbouring columns as they lie in memory, and the word of X that is made of them.
template <typename From>
struct Columns {  // X itself
  unsigned raw;
  __device__ __forceinline__ void clear() { raw = 0; }
  __device__ __forceinline__ void read(const From* from) { raw = *(const unsigned*)from; }
  __device__ __forceinline__ void readFirst(const From* from) { raw = from[0].bits; }
  __device__ __forceinline__ void readSecond(const From* from) { raw |= (unsigned)from[1].bits << 16; }
  __device__ __forceinline__ unsigned word() const { return raw; }
};
template <>
struct Columns<f32> {
  Pack<f32, 2> raw;
  __device__ __forceinline__ void clear() { raw.e[0] = raw.e[1] = 0.f; }
  __device__ __forceinline__ void read(const f32* from) { raw = *(const Pack<f32, 2>*)from; }
  __device__ __forceinline__ void readFirst(const f32* from) { raw.e[0] = from[0]; }
  __device__ __forceinline__ void readSecond(const f32* from) { raw.e[1] = from[1]; }
  __device__ __forceinline__ unsigned word() const { return NARROW<X>(raw.e[0], raw.e[1]); }
};

// A tile's part of the image, on its way to shared memory.
struct Patch {
  unsigned offset[kLoads];  // from a patch's first element to this thread's
  Columns<FROM> columns[kLoads];

  __device__ __forceinline__ explicit Patch(const ImageParameters& p) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int line = indexOf(i) / kPairs;
      const int channel = line / kPatchH;
      const int column = 2 * (indexOf(i) - line * kPairs);
      offset[i] = channel * (unsigned)p.channel + (line - channel * kPatchH) * p.line + column;
    }
  }
  __device__ __forceinline__ static int indexOf(int i) { return i * kThreads + threadIdx.x; }
  __device__ __forceinline__ static bool isOwn(int i) { return i < kWholeLoads || indexOf(i) < kWords; }
  __device__ __forceinline__ const FROM* own(const FROM* first, int i) const { return first + offset[i]; }

  __device__ __forceinline__ void load(const ImageParameters& p, const Tile& tile) {
    const int top = tile.row * STRIDE_H - p.top;
    const int left = tile.column * STRIDE_W - p.left;
    const FROM* const first = (const FROM*)p.x + tile.n * p.image + (i64)top * p.line + left;
    const bool inside = top >= 0 && top + kPatchH <= p.height && left >= 0 && left + 2 * kPairs <= p.width;
    if (p.pairs) {
      inside ? loadPairs<true>(p, first, top, left) : loadPairs<false>(p, first, top, left);
    } else {
      loadSingly(p, first, top, left);
    }
  }
  // Neighbours at once, without branches between the reads; kInside: no zeros are among them.
  template <bool kInside>
  __device__ __forceinline__ void loadPairs(const ImageParameters& p, const FROM* first, int top, int left) {
    const int start = kInside ? (int)threadIdx.x : opaque(threadIdx.x);  // so that places are not kept in registers
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int line = (start + i * kThreads) / kPairs;
      const unsigned y = top + line % kPatchH;
      const unsigned x = left + 2 * (start + i * kThreads - line * kPairs);
      const bool isThere = isOwn(i) && (kInside || (y < (unsigned)p.height && x < (unsigned)p.width));
      if (!kInside) columns[i].clear();
      if (isThere) columns[i].read(own(first, i));
    }
  }
  // Columns one by one: their number is odd, or the image is not aligned to two.
  __device__ __forceinline__ void loadSingly(const ImageParameters& p, const FROM* first, int top, int left) {
    const int start = opaque(threadIdx.x);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int line = (start + i * kThreads) / kPairs;
      const unsigned y = top + line % kPatchH;
      const unsigned x = left + 2 * (start + i * kThreads - line * kPairs);
      const bool isLine = isOwn(i) && y < (unsigned)p.height;
      columns[i].clear();
      if (isLine && x < (unsigned)p.width) columns[i].readFirst(own(first, i));
      if (isLine && x + 1 < (unsigned)p.width) columns[i].readSecond(own(first, i));
    }
  }
  __device__ __forceinline__ void store(unsigned* shared) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int line = indexOf(i) / kPairs;
      const int pair = indexOf(i) - line * kPairs;
      if (!isOwn(i)) continue;
      const unsigned word = columns[i].word();
      shared[kPitch == kPairs ? indexOf(i) : line * kPitch + pair] = word;
      if (kCopies == 1) continue;
      unsigned short* const late = (unsigned short*)(shared + kCopy + line * kPitch) + 2 * pair;
      if (pair > 0) late[-1] = (unsigned short)word;
      late[0] = (unsigned short)(word >> 16);
    }
  }
};

// Where the window's element k lies in a patch, in words from the place's own; padding stands at the first.
__device__ __forceinline__ int wordOf(int k) {
  const int line = k / TAPS;
  if (line >= kLines) return 0;
  return (line / ROWS * kPatchH + line % ROWS) * kPitch + k % TAPS / 2;
}

// A warp's two rows of places by the block's channels.
struct Sums {
  float sum[2][PARTS][4];
  float start[PARTS][2];
  const unsigned char* weights;
  const unsigned* own;  // of the patch

  // Asks for the weights; `memory`: they, and behind them the patch.
  __device__ __forceinline__ Sums(const ImageParameters& p, unsigned char* memory, int firstChannel) {
    const int lane = threadIdx.x % 32;
    const char* const from = (const char*)p.w + blockIdx.y * kWeightBytes;
#pragma unroll 1
    for (int i = threadIdx.x * 16; i < kWeightBytes; i += kThreads * 16) copyAsync(memory + i, from + i, true);
    closeCopies();
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int channel = firstChannel + laneChannel(part, lane) + part % kGroup * 2 + e;
        start[part][e] = p.bias != nullptr && channel < p.outputs ? load<X>(p.bias, channel) : 0.f;
      }
    }
    weights = memory;
    const int shift = lane / 4 * STRIDE_W % 2;  // an odd first column is an even one of the second copy
    own = (const unsigned*)(memory + kWeightBytes) + shift * kCopy + threadIdx.x / 32 * 2 * STRIDE_H * kPitch +
          (lane / 4 * STRIDE_W - shift) / 2;
  }

  // Of the patch as it stands.
  __device__ __forceinline__ void compute() {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[row][part][i] = start[part][i % 2];
      }
    }
    if constexpr (kByGroup) multiplyByGroup();
    else multiplyByWarps();
  }

  // The left operand of a step for both rows.
  __device__ __forceinline__ void loadStep(int step, unsigned (&a)[2][4]) const {
    const int low = wordOf(step * 16 + threadIdx.x % 4 * 2);
    const int high = wordOf(step * 16 + threadIdx.x % 4 * 2 + 8);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const unsigned* const at = own + row * STRIDE_H * kPitch;
      a[row][0] = at[low];
      a[row][1] = at[low + 4 * STRIDE_W];  // 8 places on
      a[row][2] = at[high];
      a[row][3] = at[high + 4 * STRIDE_W];
    }
  }
  __device__ __forceinline__ void multiplyByWarps() {
    const auto* const own = (const Pack<unsigned, 2>*)weights + threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      unsigned a[2][4];
      loadStep(step, a);
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
        const auto b = own[(step * PARTS + part) * 32];
#pragma unroll
        for (int row = 0; row < 2; ++row) multiplyAdd<X>(sum[row][part], a[row], b.e[0], b.e[1]);
      }
    }
  }
  __device__ __forceinline__ void multiplyByGroup() {
#pragma unroll
    for (int first = 0; first < kSteps; first += kStepsOfRow) {
      const int steps = kSteps - first < kStepsOfRow ? kSteps - first : kStepsOfRow;
      unsigned a[kStepsOfRow][2][4];
#pragma unroll
      for (int step = 0; step < steps; ++step) loadStep(first + step, a[step]);
      openProducts();
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const X* const b = (const X*)(weights + first / kStepsOfRow * kPanelBytes) + step * 16;
#pragma unroll
        for (int row = 0; row < 2; ++row) GroupProduct<X, 8 * PARTS, true>::byColumns(sum[row], a[step][row], b);
      }
      closeProducts();
      waitForProducts<0>();
    }
  }

  // Of a place the channels that a lane has from `part` on.
  template <typename Y, typename Parameters, typename Finish>
  __device__ __forceinline__ Pack<Y, 2 * kGroup> finished(const Parameters& p, Finish& finish, int row, int half,
                                                          int part) const {
    Pack<Y, 2 * kGroup> result;
#pragma unroll
    for (int i = 0; i < 2 * kGroup; ++i) result.e[i] = finish(p, nullptr, sum[row][part + i / 2][2 * half + i % 2]);
    return result;
  }
};

template <int kOperands, typename Y, typename Finish>
__device__ inline void convolveImage(const ImageParameters& p, Finish finish) {
  DYNAMIC_SHARED(memory, kSharedBytes);
  unsigned* const patch = (unsigned*)(memory + kWeightBytes);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int firstChannel = blockIdx.y * 8 * PARTS;
  Sums sums(p, memory, firstChannel);
  const int lineOfY = p.columns * p.outputs;

  Patch next(p);
  const unsigned tiles = p.tiles;
  Tile following(p, blockIdx.x);
  bool holds = false;  // whether `next` holds the image of tile `index`
  for (unsigned index = 0, ahead = blockIdx.x;; index = ahead, ahead += gridDim.x) {
    if (holds) {
      waitForCopies<0>();
      showToProducts();
      __syncthreads();  // the weights stand; the patch before is no longer read
      next.store(patch);
      __syncthreads();
    }
    const Tile tile = following;
    if (ahead < tiles) {
      following = Tile(p, ahead);
      next.load(p, following);
    }
    if (!holds) {
      holds = true;
      if (ahead < tiles) continue;
      return;
    }
    sums.compute();
    const int firstRow = tile.row + warp * 2;
    const int firstColumn = tile.column + lane / 4;
    Y* const place = (Y*)p.data[0] + (((i64)tile.n * p.rows + firstRow) * p.columns + firstColumn) * p.outputs;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (firstRow + row >= p.rows || firstColumn + 8 * half >= p.columns) continue;
        Y* const to = place + row * lineOfY + half * 8 * p.outputs;
#pragma unroll
        for (int part = 0; part < PARTS; part += kGroup) {
          const int channel = firstChannel + laneChannel(part, lane);
          if (channel >= p.outputs) continue;
          *(Pack<Y, 2 * kGroup>*)(to + channel) = sums.finished<Y>(p, finish, row, half, part);
        }
      }
    }
    if (ahead >= tiles) return;
  }
}
