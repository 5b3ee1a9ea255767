// Depthwise convolution of square windows: a block works down some rows of a tile of channels and columns. Rows of x
// come into shared memory in the background, a few ahead; a thread takes kWidth channels at kPlaces neighbouring
// columns, reads and converts each row once and adds it to all rows of results under way, whose sums stay in registers,
// as weights do. What lies beyond the left and right edge is zero, so weights must be finite
// (depthwise_convolution_launch.cpp).
#pragma once

#include "contraction.cuh"
#include "tensor_core.cuh"

constexpr int kMostDepthwiseShared = 96 << 10;  // bytes of a block

__device__ inline int takeFrom(unsigned& rest, int extent) {
  const unsigned quotient = rest / (unsigned)extent;
  const int index = (int)(rest - quotient * (unsigned)extent);
  rest = quotient;
  return index;
}

template <int kKernel, int kStride, int kPlaces, int kWidth>
struct DepthwiseRows {
  static constexpr int kOpen = (kKernel + kStride - 1) / kStride;          // rows of results under way
  static constexpr int kReach = (kPlaces - 1) * kStride + kKernel;         // columns of x that a thread reads
  static constexpr int kChunk = 16 / sizeof(X);                            // channels that are copied at once
  static constexpr int kChunks = (kReach * kWidth + kChunk - 1) / kChunk;  // copies of a thread for a row
  static constexpr int kSlots = kStride == 1 ? 4 : 3;                      // steps of kStride rows in shared memory
  typedef Pack<X, kWidth> Channels;

  float weight[kKernel][kKernel][kWidth];
  float bias[kWidth];
  float sum[kOpen][kPlaces][kWidth];

  unsigned rowBytes, pixelBytes;

  // Rows of x: those up to rowEnd are wanted, of which the ones from 0 exist.
  int nextRow, row, rowEnd;
  i64 rowStride;
  const X* from[kChunks];
  SharedAddress to[kChunks];
  bool mine[kChunks];
  unsigned filled;
  const unsigned char* first;  // what this thread reads of the first slot
  unsigned read;

  // Where the results go.
  i64 n;
  int channel, x0, y, yBegin, yEnd, places;
  unsigned placeBytes;
  unsigned char* result;

  __device__ __forceinline__ void nextSlot(unsigned& slot) const {
    slot += kStride * rowBytes;
    if (slot == kSlots * kStride * rowBytes) slot = 0;
  }

  __device__ __forceinline__ void copyRows() {
#pragma unroll
    for (int s = 0; s < kStride; ++s) {
      const bool exists = nextRow >= 0 && nextRow < rowEnd;
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        if (exists && mine[i]) copyAsyncTo(to[i] + (filled + s * rowBytes), from[i]);
        from[i] += rowStride;
      }
      ++nextRow;
    }
    closeCopies();
    nextSlot(filled);
  }

  // Weights come ahead of the wait for the launch in front of this one, which does not write them.
  __device__ void begin(const WindowParameters& p, unsigned char* shared) {
    const DepthwiseTile& tile = p.tile;
    unsigned rest = blockIdx.x;
    const int channel0 = takeFrom(rest, tile.channelTiles) * tile.channels;
    const int column0 = takeFrom(rest, tile.columnTiles) * tile.strips * kPlaces;
    yBegin = takeFrom(rest, tile.heights) * tile.rows;
    yEnd = min(yBegin + tile.rows, p.window[1].small);
    n = rest;
    row = nextRow = yBegin * kStride - p.window[1].before;
    rowEnd = min((yEnd - 1) * kStride - p.window[1].before + kKernel, p.window[1].large);
    pixelBytes = tile.channels * sizeof(X);

    const unsigned packs = tile.channels / kWidth;
    const int strip = (int)(threadIdx.x / packs);
    const int inTile = (int)(threadIdx.x % packs) * kWidth;
    x0 = column0 + strip * kPlaces;
    const bool works = strip < tile.strips && channel0 + inTile < p.channels && x0 < p.window[2].small;
    channel = works ? channel0 + inTile : 0;
    places = works ? min(kPlaces, p.window[2].small - x0) : 0;
    first = shared + (works ? strip * kPlaces * kStride * pixelBytes + inTile * sizeof(X) : 0);
    read = 0;
    y = yBegin - (kOpen - 1);
    loadWeights(p);
    afterPredecessor();
    beginCopies(p, shared, channel0, column0 * kStride - p.window[2].before);
    loadBias(p);
  }

  // The chunks of 16 bytes that are this thread's; those beyond the edges are zero in all slots and never copied.
  __device__ void beginCopies(const WindowParameters& p, unsigned char* shared, int channel0, int left) {
    const unsigned chunks = p.tile.channels / kChunk;
    const int pixels = (p.tile.strips * kPlaces - 1) * kStride + kKernel;
    rowBytes = pixels * pixelBytes;
    rowStride = p.xStride[3];
    filled = 0;
    const X* line = (const X*)p.x + n * p.xStride[0] + channel0 + left * p.xStride[4] + nextRow * rowStride;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const unsigned chunk = threadIdx.x + i * blockDim.x;
      const int pixel = (int)(chunk / chunks);
      const int inTile = (int)(chunk % chunks) * kChunk;
      const bool exists = left + pixel >= 0 && left + pixel < p.window[2].large && channel0 + inTile < p.channels;
      from[i] = line + pixel * p.xStride[4] + inTile;
      to[i] = sharedAddress(shared) + chunk * 16;
      mine[i] = pixel < pixels && exists;
      if (pixel >= pixels || exists) continue;
#pragma unroll
      for (int k = 0; k < kSlots * kStride; ++k) {
        *(Pack<X, kChunk>*)(shared + k * rowBytes + chunk * 16) = Pack<X, kChunk>{};
      }
    }
#pragma unroll
    for (int i = 0; i + 1 < kSlots; ++i) copyRows();
  }

  __device__ void loadWeights(const WindowParameters& p) {
    const X* w = (const X*)p.w + channel;
#pragma unroll
    for (int ty = 0; ty < kKernel; ++ty) {
#pragma unroll
      for (int tx = 0; tx < kKernel; ++tx) {
        const Channels channels = *(const Channels*)(w + (i64)(ty * kKernel + tx) * p.channels);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) weight[ty][tx][j] = Element<X>::load(channels.e[j]);
      }
    }
  }
  __device__ void loadBias(const WindowParameters& p) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      bias[j] = p.bias != nullptr ? load<X>(p.bias, channel + j) : 0.f;
#pragma unroll
      for (int d = 0; d < kOpen; ++d) {
#pragma unroll
        for (int k = 0; k < kPlaces; ++k) sum[d][k][j] = bias[j];
      }
    }
  }

  // Adds the next kStride rows; `newest` is where the row of results lies whose window begins with them.
  __device__ __forceinline__ void addRows(int newest) {
    waitForCopies<kSlots - 2>();
    __syncthreads();
    copyRows();
#pragma unroll
    for (int s = 0; s < kStride; ++s, ++row) {
      if (row < 0 || row >= rowEnd) continue;
      float value[kReach][kWidth];
#pragma unroll
      for (int r = 0; r < kReach; ++r) {
        const Channels channels = *(const Channels*)(first + (read + s * rowBytes + r * pixelBytes));
#pragma unroll
        for (int j = 0; j < kWidth; ++j) value[r][j] = Element<X>::load(channels.e[j]);
      }
#pragma unroll
      for (int ty = s; ty < kKernel; ty += kStride) {
        const int d = (newest - ty / kStride + kOpen) % kOpen;
#pragma unroll
        for (int k = 0; k < kPlaces; ++k) {
#pragma unroll
          for (int tx = 0; tx < kKernel; ++tx) {
#pragma unroll
            for (int j = 0; j < kWidth; ++j) {
              // A row of results that begins here takes the place of one that has ended.
              const float before = ty == 0 && tx == 0 ? bias[j] : sum[d][k][j];
              sum[d][k][j] = before + value[k * kStride + tx][j] * weight[ty][tx][j];
            }
          }
        }
      }
    }
    nextSlot(read);
  }

  template <int kOperands, typename Y, typename Finish>
  __device__ __forceinline__ void storePlace(const WindowParameters& p, int d, int k, Finish finish) const {
    i64 at[kOperands];
    if constexpr (kOperands > 1) {
      const Place place = {n, channel, {0, y, x0 + k}};
      offsetsOf<kOperands>(p, place, at);
    }
    Pack<Y, kWidth> pack;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      pack.e[j] = finish(p, at, sum[d][k][j]);
#pragma unroll
      for (int operand = 1; operand < kOperands; ++operand) at[operand] += p.stride[operand][1];
    }
    *(Pack<Y, kWidth>*)(result + k * placeBytes) = pack;
  }
  template <int kOperands, typename Y, typename Finish>
  __device__ __forceinline__ void storeRow(const WindowParameters& p, int d, Finish finish) const {
    if (places == kPlaces) {
#pragma unroll
      for (int k = 0; k < kPlaces; ++k) storePlace<kOperands, Y>(p, d, k, finish);
    } else {
#pragma unroll
      for (int k = 0; k < kPlaces; ++k) {
        if (k < places) storePlace<kOperands, Y>(p, d, k, finish);
      }
    }
  }

  // Steps, until `newest` is kOpen again a constant in each; whether there are more.
  template <int kNewest, int kOperands, typename Y, typename Finish>
  __device__ __forceinline__ bool steps(const WindowParameters& p, Finish finish) {
    if constexpr (kNewest == kOpen) {
      return true;
    } else {
      addRows(kNewest);
      if (y >= yBegin) {
        storeRow<kOperands, Y>(p, (kNewest + 1) % kOpen, finish);
        result += p.stride[0][3] * (i64)sizeof(Y);
      }
      if (++y >= yEnd) return false;
      return steps<kNewest + 1, kOperands, Y>(p, finish);
    }
  }

  template <int kOperands, typename Y, typename Finish>
  __device__ __forceinline__ void convolve(const WindowParameters& p, Finish finish) {
    DYNAMIC_SHARED(shared, kMostDepthwiseShared);
    begin(p, shared);
    placeBytes = (unsigned)p.stride[0][4] * sizeof(Y);
    const i64 begin0 = n * p.stride[0][0] + yBegin * p.stride[0][3] + x0 * p.stride[0][4] + channel;
    result = (unsigned char*)((Y*)p.data[0] + begin0);
    while (steps<0, kOperands, Y>(p, finish)) {
    }
    waitForCopies<0>();
  }
};
