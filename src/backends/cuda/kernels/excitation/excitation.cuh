// Squeeze-and-excitation: y = scale(x, excite(squeeze(means of the channels of x))) for channels-last images, squeeze
// and excite products with an epilogue each. A cluster of blocks takes an image. Each block adds up its share of the
// pixels; the sums of a channel meet at the block that owns it, which multiplies its channels by their columns of the
// first product; these parts meet at all blocks; each computes the gates of its channels, which all blocks get, and
// scales its pixels, from shared memory where they have found room. By slices a block takes all pixels of the channels
// that it owns instead, so that only the parts meet. Every sum has an order of its own, so that results never depend on
// time. The including text defines X, and the three functions of Finish.
#pragma once

#include "backends/cuda/kernels/excitation/excitation_parameters.h"
#include "bulk_copies.cuh"
#include "scalar.cuh"

// kPack: channels that a thread takes at once.
template <int kPack, bool kSlices, typename Finish>
struct Excitation {
  typedef Pack<X, kPack> Some;
  static const int kGroup = kExcitationMostBlocks;  // lanes that work on a row of weights

  const ExcitationParameters& p;
  int block, blocks, threads;
  int first, own;          // channels of this block
  int firstPixel, pixels;  // its share
  int packs, lanes;        // of a pixel; threads that share a pack's pixels
  int kept;                // channels of a pixel in the tile
  int firstPack, lane;     // of this thread: its packs of channels, and the first of the pixels that it takes of each
  i64 offset;              // of the share in x and y
  float* memory;
  X* tile;

  __device__ __forceinline__ Excitation(const ExcitationParameters& parameters, unsigned char* shared)
      : p(parameters), block(blockOfCluster()), blocks(blocksOfCluster()), threads(blockDim.x) {
    first = block * p.slice;
    own = max(0, min(p.slice, p.channels - first));
    firstPixel = kSlices ? 0 : (int)((i64)p.pixels * block / blocks);
    pixels = kSlices ? p.pixels : (int)((i64)p.pixels * (block + 1) / blocks) - firstPixel;
    kept = kSlices ? p.slice : p.channels;
    packs = kept / kPack;
    lanes = max(1, threads / packs);
    lane = packs <= threads ? threadIdx.x / packs : 0;
    firstPack = (int)threadIdx.x - lane * packs;
    offset = ((i64)blockIdx.y * p.pixels + firstPixel) * p.channels + (kSlices ? first : 0);
    memory = (float*)shared;
    tile = (X*)(memory + p.tile);
  }

  // Values come to a block in three waves, each of which has a barrier that counts their bytes.
  enum Wave { kSums, kParts, kGates };
  __device__ __forceinline__ ByteBarrier* barrierOf(Wave wave) const {
    return (ByteBarrier*)(memory + p.barriers) + wave;
  }
  __device__ __forceinline__ void expectValues() const {
    if (blocks == 1) return;
    if (threadIdx.x == 0) {
      const int values[] = {kSlices ? 0 : blocks * own, blocks * p.squeezed, kSlices ? 0 : p.channels};
#pragma unroll
      for (int wave = kSums; wave <= kGates; ++wave) openBarrier(barrierOf((Wave)wave), 1);
      showBarriers();
#pragma unroll
      for (int wave = kSums; wave <= kGates; ++wave)
        arriveExpecting(barrierOf((Wave)wave), (unsigned)(values[wave] * sizeof(float)));
    }
    syncWarp();
    announceToCluster();
  }
  // A wave has come, from this block and the others.
  __device__ __forceinline__ void meet(Wave wave) const {
    if (blocks == 1) __syncthreads();
    else waitAt(barrierOf(wave), 0);
  }
  __device__ __forceinline__ void send(float* to, int rank, float value, Wave wave) const {
    if (blocks == 1) *to = value;
    else sendToBlock(to, rank, value, barrierOf(wave));
  }

  // Where biases stand in shared memory.
  __device__ __forceinline__ float* squeezeBiases() const { return memory + p.biases; }
  __device__ __forceinline__ float* exciteBiases() const { return squeezeBiases() + p.squeezed; }
  __device__ __forceinline__ void fetchBiases() const {
#pragma unroll 1
    for (int i = threadIdx.x; i < p.squeezed; i += threads)
      squeezeBiases()[i] = p.squeezeBias != nullptr ? load<X>(p.squeezeBias, i) : 0.f;
#pragma unroll 1
    for (int i = threadIdx.x; i < own; i += threads)
      exciteBiases()[i] = p.exciteBias != nullptr ? load<X>(p.exciteBias, first + i) : 0.f;
  }
  // The block's weights, which no launch writes, on their way to shared memory.
  __device__ __forceinline__ void fetchWeights() const {
    if (p.holds == 0) return;
    const int columns = own / kPack;
#pragma unroll 1
    for (int i = threadIdx.x; i < p.squeezed * columns; i += threads) {
      const int row = i / columns;
      const int column = (i - row * columns) * kPack;
      copyAsync(squeezeRows() + row * p.slice + column, (const X*)p.squeeze + (i64)row * p.channels + first + column,
                true);
    }
    const X* const excite = (const X*)p.excite + (i64)first * p.squeezed;
#pragma unroll 1
    for (int i = threadIdx.x * kPack; i < own * p.squeezed; i += threads * kPack)
      copyAsync(exciteRows() + i, excite + i, true);
    closeCopies();
  }
  __device__ __forceinline__ X* squeezeRows() const { return (X*)(memory + p.weights); }
  __device__ __forceinline__ X* exciteRows() const { return squeezeRows() + p.squeezed * p.slice; }

  __device__ __forceinline__ int packsHere() const { return kSlices ? own / kPack : packs; }

  __device__ __forceinline__ void take(float (&sum)[kPack], const Some& some, int pixel, int pack) const {
#pragma unroll
    for (int e = 0; e < kPack; ++e) sum[e] += Element<X>::load(some.e[e]);
    if (p.keeps != 0) *(Some*)(tile + (i64)pixel * kept + pack * kPack) = some;
  }
  __device__ __forceinline__ void storeSums(const float (&sum)[kPack], int pack) const {
    constexpr int kStored = kPack < 4 ? kPack : 4;
    Pack<float, kStored>* const to = (Pack<float, kStored>*)(memory + lane * p.pitch + pack * kPack);
#pragma unroll
    for (int e = 0; e < kPack; e += kStored) {
      Pack<float, kStored> some;
#pragma unroll
      for (int i = 0; i < kStored; ++i) some.e[i] = sum[e + i];
      to[e / kStored] = some;
    }
  }

  // Sums of the block's pixels, which copies bring to the tile: few instructions, each of which is fetched once.
  __device__ __forceinline__ void addUpTile() const {
    if (lane >= lanes) return;
#pragma unroll 1
    for (int pack = firstPack; pack < packsHere(); pack += threads) {
      const X* const from = (const X*)p.x + offset + pack * kPack;
#pragma unroll 1
      for (int pixel = lane; pixel < pixels; pixel += lanes)
        copyAsync(tile + (i64)pixel * kept + pack * kPack, from + (i64)pixel * p.channels, true);
    }
    closeCopies();
    waitForCopies<0>();
#pragma unroll 1
    for (int pack = firstPack; pack < packsHere(); pack += threads) {
      float sum[kPack] = {};
#pragma unroll 1
      for (int pixel = lane; pixel < pixels; pixel += lanes) {
        const Some some = *(const Some*)(tile + (i64)pixel * kept + pack * kPack);
#pragma unroll
        for (int e = 0; e < kPack; ++e) sum[e] += Element<X>::load(some.e[e]);
      }
      storeSums(sum, pack);
    }
  }

  // Sums of the block's pixels, of which each lane has its own.
  __device__ __forceinline__ void addUp() const {
    constexpr int kAtOnce = 4;
    if (kPack > 1 && p.keeps != 0) return addUpTile();
    if (lane >= lanes) return;
#pragma unroll 1
    for (int pack = firstPack; pack < packsHere(); pack += threads) {
      float sum[kPack] = {};
      const X* const from = (const X*)p.x + offset + pack * kPack;
#pragma unroll 1
      for (int pixel = lane; pixel < pixels; pixel += kAtOnce * lanes) {
        Some some[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (pixel + i * lanes < pixels) some[i] = *(const Some*)(from + (i64)(pixel + i * lanes) * p.channels);
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (pixel + i * lanes < pixels) take(sum, some[i], pixel + i * lanes, pack);
        }
      }
      storeSums(sum, pack);
    }
  }
  // To the blocks that own the channels.
  __device__ __forceinline__ void sendSums() const {
    constexpr int kFew = 4;
    int left = lanes;
#pragma unroll 1
    while (left > kFew) {
      const int half = (left + 1) / 2;
#pragma unroll 1
      for (int i = threadIdx.x; i < (left - half) * p.channels; i += threads)
        memory[i] += memory[i + half * p.channels];
      left = half;
      __syncthreads();
    }
    if (blocks > 1) waitForCluster();  // the others have begun
#pragma unroll 1
    for (int channel = threadIdx.x; channel < p.channels; channel += threads) {
      float sum = memory[channel];
#pragma unroll 1
      for (int i = 1; i < left; ++i) sum += memory[i * p.channels + channel];
      const int owner = channel / p.slice;
      send(memory + p.received + block * p.slice + channel - owner * p.slice, owner, sum, kSums);
    }
  }
  // Where the block has its channels' sums by itself.
  __device__ __forceinline__ void averageHere() const {
    constexpr int kAtOnce = 4;
#pragma unroll 1
    for (int base = firstRows(); base < own; base += nextRows()) {
      const int channel = rowOf(base);
      float sum = 0.f;
#pragma unroll 1
      for (int i = threadIdx.x % kGroup; i < lanes; i += kAtOnce * kGroup) {
        float some[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          const int at = i + k * kGroup;
          some[k] = channel < own && at < lanes ? memory[at * p.pitch + channel] : 0.f;
        }
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) sum += some[k];
      }
      const float whole = ofGroup(sum);
      if (channel < own) memory[p.means + channel] = whole / (float)p.pixels;
    }
  }
  __device__ __forceinline__ void average() const {
#pragma unroll 1
    for (int i = threadIdx.x; i < own; i += threads) {
      float sum = 0.f;
#pragma unroll 1
      for (int k = 0; k < blocks; ++k) sum += memory[p.received + k * p.slice + i];
      memory[p.means + i] = sum / (float)p.pixels;
    }
  }

  template <int kWide>
  __device__ __forceinline__ static void loadValues(float (&to)[kWide], const float* from) {
    constexpr int kLoaded = kWide < 4 ? kWide : 4;
#pragma unroll
    for (int e = 0; e < kWide; e += kLoaded) {
      const Pack<float, kLoaded> some = *(const Pack<float, kLoaded>*)(from + e);
#pragma unroll
      for (int i = 0; i < kLoaded; ++i) to[e + i] = some.e[i];
    }
  }

  // A lane's share of a group's sum of products. kAtOnce: packs of weights under way, one where they are near.
  template <int kWide, int kAtOnce>
  __device__ __forceinline__ static float product(const X* weights, const float* values, int count) {
    float sum = 0.f;
#pragma unroll 1
    for (int begin = threadIdx.x % kGroup * kWide; begin < count; begin += kAtOnce * kGroup * kWide) {
      Pack<X, kWide> some[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int i = begin + k * kGroup * kWide;
        if (i < count) some[k] = *(const Pack<X, kWide>*)(weights + i);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int i = begin + k * kGroup * kWide;
        if (i >= count) break;
        float value[kWide];
        loadValues(value, values + i);
#pragma unroll
        for (int e = 0; e < kWide; ++e) sum += Element<X>::load(some[k].e[e]) * value[e];
      }
    }
    return sum;
  }
  template <int kWide>
  __device__ __forceinline__ float product(const X* weights, const float* values, int count) const {
    return p.holds != 0 ? product<kWide, 1>(weights, values, count) : product<kWide, 4>(weights, values, count);
  }
  __device__ __forceinline__ static float ofGroup(float sum) {
#pragma unroll
    for (int mask = 1; mask < kGroup; mask *= 2) sum += shuffleXor(sum, mask);
    return sum;
  }
  // Rows of weights: a warp takes as many at a time as it has groups.
  __device__ __forceinline__ int rowOf(int base) const { return base + threadIdx.x % 32 / kGroup; }
  __device__ __forceinline__ int firstRows() const { return threadIdx.x / 32 * (32 / kGroup); }
  __device__ __forceinline__ int nextRows() const { return threads / kGroup; }
  // By the lanes of a group, to all blocks.
  __device__ __forceinline__ void sendToAll(float* to, float value, Wave wave) const {
    const int rank = threadIdx.x % kGroup;
    if (rank < blocks) send(to, rank, value, wave);
  }

  __device__ __forceinline__ void squeeze() const {
    const X* const weights = p.holds != 0 ? squeezeRows() : (const X*)p.squeeze + first;
    const int pitch = p.holds != 0 ? p.slice : p.channels;
#pragma unroll 1
    for (int base = firstRows(); base < p.squeezed; base += nextRows()) {
      const int row = rowOf(base);
      const bool inside = row < p.squeezed;
      const float sum = inside ? product<kPack>(weights + (i64)row * pitch, memory + p.means, own) : 0.f;
      const float whole = ofGroup(sum);
      if (inside) sendToAll(memory + p.parts + block * p.squeezed + row, whole, kParts);
    }
  }
  __device__ __forceinline__ void joinSqueezed() const {
#pragma unroll 1
    for (int i = threadIdx.x; i < p.squeezed; i += threads) {
      float parts[kGroup];
#pragma unroll
      for (int k = 0; k < kGroup; ++k) parts[k] = k < blocks ? memory[p.parts + k * p.squeezed + i] : 0.f;
      float sum = squeezeBiases()[i];
#pragma unroll
      for (int k = 0; k < kGroup; ++k) sum += parts[k];
      memory[p.joined + i] = Finish::squeeze(sum);
    }
  }
  __device__ __forceinline__ void excite() const {
    const X* const weights = p.holds != 0 ? exciteRows() : (const X*)p.excite + (i64)first * p.squeezed;
#pragma unroll 1
    for (int base = firstRows(); base < own; base += nextRows()) {
      const int row = rowOf(base);
      const bool inside = row < own;
      const X* const from = weights + (i64)row * p.squeezed;
      const float* const values = memory + p.joined;
      float sum = 0.f;
      if (inside && p.squeezedPacks != 0) sum = product<kPack>(from, values, p.squeezed);
      if (inside && p.squeezedPacks == 0) sum = product<1>(from, values, p.squeezed);
      const float whole = ofGroup(sum);
      if (!inside) continue;
      const float gate = Finish::excite(whole + exciteBiases()[row]);
      if (!kSlices) sendToAll(memory + p.gates + first + row, gate, kGates);
      else if (threadIdx.x % kGroup == 0) memory[p.gates + row] = gate;
    }
  }

  __device__ __forceinline__ Some scaled(const Some& some, const float (&gate)[kPack]) const {
    Some result;
#pragma unroll
    for (int e = 0; e < kPack; ++e)
      result.e[e] = Element<X>::store(Finish::scale(Element<X>::load(some.e[e]), gate[e]));
    return result;
  }
  // kAtOnce: pixels under way, one where they are near.
  template <int kAtOnce>
  __device__ __forceinline__ void scale(const X* from, int pitch) const {
    if (lane >= lanes) return;
    X* const to = (X*)p.y + offset;
#pragma unroll 1
    for (int pack = firstPack; pack < packsHere(); pack += threads) {
      float gate[kPack];
      loadValues(gate, memory + p.gates + pack * kPack);
#pragma unroll 1
      for (int pixel = lane; pixel < pixels; pixel += kAtOnce * lanes) {
        Some some[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (pixel + i * lanes < pixels)
            some[i] = *(const Some*)(from + (i64)(pixel + i * lanes) * pitch + pack * kPack);
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (pixel + i * lanes < pixels)
            *(Some*)(to + (i64)(pixel + i * lanes) * p.channels + pack * kPack) = scaled(some[i], gate);
        }
      }
    }
  }

  __device__ __forceinline__ void run() const {
    expectValues();
    if (kPack > 1) fetchWeights();
    if (p.hasConstants != 0) fetchBiases();
    afterPredecessor();
    if (p.hasConstants == 0) fetchBiases();
    addUp();
    if (kPack > 1) waitForCopies<0>();
    __syncthreads();
    if (kSlices) {
      averageHere();
      if (blocks > 1) waitForCluster();  // the others have begun
    } else {
      sendSums();
      meet(kSums);
      average();
    }
    __syncthreads();
    squeeze();
    meet(kParts);
    joinSqueezed();
    __syncthreads();
    excite();
    if (kSlices) __syncthreads();
    else meet(kGates);
    if (p.keeps != 0) scale<1>(tile, kept);
    else scale<4>((const X*)p.x + offset, p.channels);
  }
};
