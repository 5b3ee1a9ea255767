// The convolution of an image and the maxima of its result's windows in one kernel: the result itself, four times as
// large, is never written. Blocks walk down strips of 16 columns; the last rows of a tile stay in shared memory for the
// windows that reach into the next one. A block that begins within a strip computes the tile above its first one, too.
// The including text defines what image_convolution.cuh wants, POOL_H and POOL_W: 2 or 3, two places apart.
#pragma once

#include "image_convolution.cuh"
#include "pack_max.cuh"

constexpr int kRing = kTileH + POOL_H - 1;                          // rows of places
constexpr int kPooledW = (kTileW - POOL_W) / kImagePoolStride + 1;  // windows of a strip
constexpr int kRingAt = (kSharedBytes + 15) / 16 * 16;
constexpr int kRingBytes = kRing * kTileW * PARTS * 16;  // as ImageForm::sharedBytes() says
static_assert(PARTS >= 4, "lanes have packs of 8 channels");

struct StripTile : Tile {
  int firstPooled;  // column

  __device__ __forceinline__ StripTile(const ImageParameters& p, int left, unsigned index) {
    const unsigned strips = index / p.down;
    row = (int)(index - strips * p.down.divisor) * kTileH;
    n = (int)(strips / p.across);
    firstPooled = (int)(strips - n * p.across.divisor) * kPooledW;
    column = firstPooled * kImagePoolStride - left;
  }
};

// Where 8 channels of a place lie: packs of neighbouring places in different banks.
__device__ __forceinline__ int ringPack(int row, int column, int pack) {
  return (row % kRing * kTileW + column) * PARTS + (pack ^ (column % 2 * (PARTS / 2 & 4)));
}

// The windows of which the tile has the last row.
template <typename Y>
__device__ __forceinline__ void poolTile(const ImagePoolingParameters& p, const StripTile& tile, const Pack<Y, 8>* ring,
                                         int firstChannel) {
  // The first window whose last row is `row` or behind it.
  const auto windowAt = [&](int row) { return min((row + p.poolTop - POOL_H + 2) / kImagePoolStride, p.pooledRows); };
  const int first = tile.row == 0 ? 0 : windowAt(tile.row);
  const int end = tile.row + kTileH >= p.rows ? p.pooledRows : windowAt(tile.row + kTileH);
  const int tasks = (end - first) * kPooledW * PARTS;
#pragma unroll 1
  for (int task = threadIdx.x; task < tasks; task += kThreads) {
    const int pack = task % PARTS;
    const int place = task / PARTS;
    const int row = first + place / kPooledW;
    const int column = tile.firstPooled + place % kPooledW;
    const int channel = firstChannel + pack * 8;
    if (column >= p.pooledColumns || channel >= p.outputs) continue;
    const int top = row * kImagePoolStride - p.poolTop, left = column * kImagePoolStride - p.poolLeft;
    const int y0 = max(top, 0), y1 = min(top + POOL_H, p.rows) - 1;
    const int x0 = max(left, 0), x1 = min(left + POOL_W, p.columns) - 1;
    Pack<Y, 8> highest;
    if (y0 > y1 || x0 > x1) {
#pragma unroll
      for (int i = 0; i < 8; ++i) highest.e[i] = Element<Y>::store(-infinity());
    } else {
      highest = ring[ringPack(y0, x0 - tile.column, pack)];
      // A cell again instead of those outside changes no maximum.
#pragma unroll
      for (int i = 0; i < POOL_H; ++i) {
#pragma unroll
        for (int j = 0; j < POOL_W; ++j)
          PackMax<Y, 8>::join(highest, ring[ringPack(min(y0 + i, y1), min(x0 + j, x1) - tile.column, pack)]);
      }
    }
    *(Pack<Y, 8>*)((Y*)p.data[0] + (((i64)tile.n * p.pooledRows + row) * p.pooledColumns + column) * p.outputs +
                   channel) = highest;
  }
}

template <int kOperands, typename Y, typename Finish>
__device__ inline void convolveAndPool(const ImagePoolingParameters& p, Finish finish) {
  DYNAMIC_SHARED(memory, kRingAt + kRingBytes);
  unsigned* const patch = (unsigned*)(memory + kWeightBytes);
  Pack<Y, 8>* const ring = (Pack<Y, 8>*)(memory + kRingAt);
  const int lane = threadIdx.x % 32;
  const int firstChannel = blockIdx.y * 8 * PARTS;
  Sums sums(p, memory, firstChannel);
  const int first = (int)blockIdx.x * p.tilesOfBlock;
  const int end = min(first + p.tilesOfBlock, p.tiles);
  const int begin = StripTile(p, p.poolLeft, first).row == 0 ? first : first - 1;
  Patch next(p);
  next.load(p, StripTile(p, p.poolLeft, begin));
#pragma unroll 1
  for (int index = begin; index < end; ++index) {
    waitForCopies<0>();
    showToProducts();
    __syncthreads();  // the weights stand; the patch and the ring before are no longer read
    next.store(patch);
    __syncthreads();
    const StripTile tile(p, p.poolLeft, index);
    if (index + 1 < end) next.load(p, StripTile(p, p.poolLeft, index + 1));
    sums.compute();
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int part = 0; part < PARTS; part += kGroup)
          ring[ringPack(tile.row + threadIdx.x / 32 * 2 + row, lane / 4 + 8 * half, laneChannel(part, lane) / 8)] =
              sums.finished<Y>(p, finish, row, half, part);
      }
    }
    __syncthreads();
    if (index >= first) poolTile<Y>(p, tile, ring, firstChannel);
  }
}
