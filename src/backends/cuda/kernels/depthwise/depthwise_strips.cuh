// Depthwise convolution of halves on tensor cores, of square windows without stride and dilation. Of one channel, 8
// neighbouring results of a row are the product of 16 neighbouring elements of x by a matrix of weights,
// w[column - result]. A warp takes four channels of 16 such strips, which may be of several rows and images: each row
// of x is multiplied once for every row of the window and added to the results under way, whose sums stay in registers,
// as weights do. A block works down the rows of a tile of channels; rows of x come into shared memory in the
// background, a few ahead, and rows of results leave through it.
//
// The matrix has zeros beside the window, so weights must be finite (depthwise_convolution_launch.cpp), and an infinite
// or NaN element of x makes NaNs of all results of its strips in these rows.
#pragma once

#include "depthwise_rows.cuh"

// Where a row of strips lies: a part of the rows of an image.
struct StripLine {
  int image, yBegin, rows;  // no rows where there is no such line
};

template <int kKernel>
struct DepthwiseStrips {
  static_assert(kKernel <= 9, "eight results reach 16 columns");
  static constexpr int kStrips = 16, kColumns = 8;
  static constexpr int kWidth = 4;  // channels of a warp
  static constexpr int kChunk = 8;  // channels that are copied at once
  static constexpr int kSlots = 4;  // rows in shared memory
  static constexpr int kCopies = 4;
  static constexpr int kNever = -(1 << 30);  // a row that does not come to exist

  float sum[kKernel][kWidth][4];  // of rows of results under way
  unsigned weight[kKernel][kWidth][2];
  float bias[kWidth];

  int line0, lines, channel0, column0, strips, step, allSteps;

  // Copies of rows of x, each of a chunk: `row` is the row of x that is next.
  const X* from[kCopies];
  int row[kCopies];
  unsigned to[kCopies];
  bool mine[kCopies];
  int copied;
  unsigned slotBytes, fillAt, readAt;
  unsigned char* slots;

  unsigned read[2][2];  // what this lane reads of a slot: of either strip, from columns 0 and 8
  unsigned pitch;

  __device__ StripLine lineAt(const WindowParameters& p, int index) const {
    const int line = line0 + index;
    if (index >= lines || line >= (int)p.count) return {0, 0, 0};
    const int image = line / p.tile.heights;
    const int yBegin = (line - image * p.tile.heights) * p.tile.rows;
    return {image, yBegin, min(p.tile.rows, p.window[1].small - yBegin)};
  }

  __device__ void begin(const WindowParameters& p, unsigned char* shared) {
    const DepthwiseTile& tile = p.tile;
    unsigned rest = blockIdx.x;
    channel0 = takeFrom(rest, tile.channelTiles) * tile.channels;
    column0 = takeFrom(rest, tile.columnTiles) * tile.strips * kColumns;
    strips = tile.strips;
    lines = kStrips / strips;
    line0 = (int)rest * lines;
    allSteps = tile.rows + kKernel - 1;
    step = 0;
    slots = shared;
    pitch = tile.channels * sizeof(X);
    slotBytes = lines * (strips + 1) * kColumns * pitch;
    beginCopies(p);

    const int warp = (int)threadIdx.x / 32;
    const int lane = (int)threadIdx.x % 32;
    const unsigned chunks = tile.channels / kChunk;
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      const int strip = lane / 4 + 8 * m < lines * strips ? lane / 4 + 8 * m : 0;  // results of others go nowhere
      const unsigned group = strip / strips * (strips + 1) + strip % strips;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned chunk = (unsigned)(warp / 2) ^ ((group + half) & (chunks - 1));
        read[m][half] = ((group + half) * kColumns + lane % 4) * pitch + chunk * 16 + warp % 2 * 8;
      }
    }
  }

  // Chunks of a slot: pixel by pixel, the chunks of one in an order that changes every eight pixels, so that lanes that
  // read the same channels of many strips meet all banks. What does not exist becomes zero.
  __device__ void beginCopies(const WindowParameters& p) {
    const unsigned chunks = p.tile.channels / kChunk;
    const int width = (strips + 1) * kColumns;
    copied = 0;
    fillAt = readAt = 0;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const unsigned index = threadIdx.x + i * blockDim.x;
      const unsigned chunk = index % chunks;
      const int pixel = (int)(index / chunks);
      const int channel = channel0 + (int)chunk * kChunk;
      const StripLine line = lineAt(p, pixel / width);
      const int column = column0 - p.window[2].before + pixel % width;
      const bool exists = line.rows > 0 && channel < p.channels && column >= 0 && column < p.window[2].large;
      mine[i] = pixel < lines * width;
      to[i] = pixel * pitch + (chunk ^ ((unsigned)pixel / kColumns & (chunks - 1))) * 16;
      const int first = line.yBegin - p.window[1].before;
      row[i] = exists ? first : kNever;
      from[i] = (const X*)p.x;
      if (exists) from[i] += (i64)line.image * p.xStride[0] + first * p.xStride[3] + column * p.xStride[4] + channel;
    }
#pragma unroll
    for (int i = 0; i + 1 < kSlots; ++i) copyRow(p);
  }

  __device__ __forceinline__ void copyRow(const WindowParameters& p) {
    if (copied++ < allSteps) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        if (!mine[i]) continue;
        const bool exists = row[i] >= 0 && row[i] < p.window[1].large;
        copyAsync(slots + fillAt + to[i], exists ? from[i] : (const X*)p.x, exists);
        ++row[i];
        from[i] += p.xStride[3];
      }
    }
    closeCopies();
    fillAt = nextSlot(fillAt);
  }
  __device__ __forceinline__ unsigned nextSlot(unsigned at) const {
    return at + slotBytes == kSlots * slotBytes ? 0 : at + slotBytes;
  }

  // Four channels at four columns, as the registers of four products: each holds one channel of two columns.
  __device__ static __forceinline__ void pair(const uint2& a, const uint2& b, unsigned (&pairs)[kWidth]) {
    pairs[0] = (a.x & 0xffff) | b.x << 16;
    pairs[1] = a.x >> 16 | (b.x & 0xffff0000);
    pairs[2] = (a.y & 0xffff) | b.y << 16;
    pairs[3] = a.y >> 16 | (b.y & 0xffff0000);
  }

  // Of 16 columns this lane takes t, t + 4, t + 8 and t + 12, which stand for the four inner indices of its registers.
  __device__ void loadWeights(const WindowParameters& p) {
    const int result = (int)threadIdx.x % 32 / 4;
    const int t = (int)threadIdx.x % 4;
    const int channel = channel0 + (int)threadIdx.x / 32 * kWidth;
    const bool works = channel < p.channels;
    const X* w = (const X*)p.w + (works ? channel : 0);
#pragma unroll
    for (int ty = 0; ty < kKernel; ++ty) {
      uint2 at[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int tap = t + 4 * i - result;
        const bool inside = tap >= 0 && tap < kKernel;
        at[i] = *(const uint2*)(w + (ty * kKernel + (inside ? tap : 0)) * p.channels);  // not one after another
        at[i].x = inside ? at[i].x : 0;
        at[i].y = inside ? at[i].y : 0;
      }
      unsigned first[kWidth], second[kWidth];
      pair(at[0], at[1], first);
      pair(at[2], at[3], second);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        weight[ty][j][0] = first[j];
        weight[ty][j][1] = second[j];
      }
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j) bias[j] = p.bias != nullptr && works ? load<X>(p.bias, channel + j) : 0.f;
  }

  // Adds the next row of x; `newest` is where the row of results lies whose window begins with it.
  __device__ __forceinline__ void addRow(const WindowParameters& p, int newest) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[newest][j][i] = bias[j];
    }
    const int whole = step - p.window[1].before;  // where lines are whole images: the row
    if (p.tile.heights > 1 || (whole >= 0 && whole < p.window[1].large)) {
      const unsigned char* slot = slots + readAt;
      unsigned x[4][kWidth];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const unsigned char* at = slot + read[m][half];
          pair(*(const uint2*)at, *(const uint2*)(at + 4 * pitch), x[2 * half + m]);
        }
      }
#pragma unroll
      for (int ty = 0; ty < kKernel; ++ty) {
        const int result = step - ty;
        if (result < 0 || result >= p.tile.rows) continue;
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          const unsigned left[4] = {x[0][j], x[1][j], x[2][j], x[3][j]};
          multiplyAdd<X>(sum[(newest - ty + kKernel) % kKernel][j], left, weight[ty][j][0], weight[ty][j][1]);
        }
      }
    }
    readAt = nextSlot(readAt);
  }

  // Steps, until `newest` is kKernel again a constant in each; whether there are more.
  template <int kNewest, typename Leaving, typename Finish>
  __device__ __forceinline__ bool steps(const WindowParameters& p, Leaving& results, Finish finish) {
    if constexpr (kNewest == kKernel) {
      return true;
    } else {
      waitForCopies<kSlots - 2>();
      __syncthreads();
      if (step >= kKernel) results.storeRow(p, step - 1);
      copyRow(p);
      addRow(p, kNewest);
      if (step >= kKernel - 1)
        results.takeRow(p, *this, sum[(kNewest + 1) % kKernel], step - (kKernel - 1), step, finish);
      if (++step == allSteps) return false;
      return steps<kNewest + 1>(p, results, finish);
    }
  }

  template <int kOperands, typename Y, typename Finish>
  __device__ __forceinline__ void convolve(const WindowParameters& p, Finish finish) {
    DYNAMIC_SHARED(shared, kMostDepthwiseShared);
    afterPredecessor();
    begin(p, shared);
    loadWeights(p);
    Results<kOperands, Y> results(p, *this, shared + kSlots * slotBytes);
    while (steps<0>(p, results, finish)) {
    }
    waitForCopies<0>();
    __syncthreads();
    results.storeRow(p, step - 1);
  }

 private:
  // Rows of results on their way: written to shared memory as the products leave them, a step later stored as they lie
  // in the result.
  template <int kOperands, typename Y>
  struct Results {
    static constexpr int kUnit = 16 / sizeof(Y) < 8 ? 16 / sizeof(Y) : 8;  // elements that are stored at once
    static constexpr int kStores = 16 / kUnit;
    static constexpr int kPart = kUnit < kWidth ? kUnit : kWidth;

    unsigned char* rows;
    unsigned rowBytes, pitch, swizzle;
    unsigned char* to[kStores];
    unsigned from[kStores];
    int left[kStores];  // rows that this thread has yet to store

    __device__ Results(const WindowParameters& p, const DepthwiseStrips& at, unsigned char* shared) : rows(shared) {
      const int channels = p.tile.channels;
      pitch = channels * sizeof(Y) + 16;
      rowBytes = kStrips * kColumns * pitch;
      swizzle = channels * sizeof(Y) / 16 - 1;
      const int units = channels / kUnit;
#pragma unroll
      for (int i = 0; i < kStores; ++i) {
        const int index = (int)(threadIdx.x + i * blockDim.x);
        const int unit = index % units * kUnit;
        const int pixel = index / units;
        const int strip = pixel / kColumns;
        const StripLine line = at.lineAt(p, strip / at.strips);
        const int x = at.column0 + strip % at.strips * kColumns + pixel % kColumns;
        const int channel = at.channel0 + unit;
        left[i] = x < p.window[2].small && channel < p.channels ? line.rows : 0;
        from[i] = placeOf(pixel, strip, unit);
        to[i] = (unsigned char*)((Y*)p.data[0] + (i64)line.image * p.stride[0][0] + line.yBegin * p.stride[0][3] +
                                 x * p.stride[0][4] + channel);
      }
    }

    __device__ __forceinline__ unsigned placeOf(int pixel, int strip, int channel) const {
      const unsigned byte = channel * sizeof(Y);
      return pixel * pitch + ((byte / 16 ^ ((unsigned)strip & swizzle)) * 16 + byte % 16);
    }

    // The row that ended in this step, the index-th of its lines.
    template <typename Finish>
    __device__ __forceinline__ void takeRow(const WindowParameters& p, const DepthwiseStrips& tile,
                                            const float (&sum)[kWidth][4], int index, int step, Finish finish) {
      const int lane = (int)threadIdx.x % 32;
      const int inTile = (int)threadIdx.x / 32 * kWidth;
      unsigned char* row = rows + (step & 1) * rowBytes;
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int strip = lane / 4 + 8 * m;
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int column = lane % 4 * 2 + e;
          i64 at[kOperands];
          if constexpr (kOperands > 1) {
            const StripLine line = tile.lineAt(p, strip / tile.strips);
            const int x = tile.column0 + strip % tile.strips * kColumns + column;
            if (index >= line.rows || x >= p.window[2].small || tile.channel0 + inTile >= p.channels) continue;
            const Place place = {line.image, tile.channel0 + inTile, {0, line.yBegin + index, x}};
            offsetsOf<kOperands>(p, place, at);
          }
#pragma unroll
          for (int j0 = 0; j0 < kWidth; j0 += kPart) {
            Pack<Y, kPart> pack;
#pragma unroll
            for (int j = 0; j < kPart; ++j) {
              pack.e[j] = finish(p, at, sum[j0 + j][2 * m + e]);
#pragma unroll
              for (int operand = 1; operand < kOperands; ++operand) at[operand] += p.stride[operand][1];
            }
            *(Pack<Y, kPart>*)(row + placeOf(strip * kColumns + column, strip, inTile + j0)) = pack;
          }
        }
      }
    }

    __device__ __forceinline__ void storeRow(const WindowParameters& p, int step) {
#pragma unroll
      for (int i = 0; i < kStores; ++i) {
        if (left[i]-- <= 0) continue;
        *(Pack<Y, kUnit>*)to[i] = *(const Pack<Y, kUnit>*)(rows + (step & 1) * rowBytes + from[i]);
        to[i] += p.stride[0][3] * (i64)sizeof(Y);
      }
    }
  };
};
