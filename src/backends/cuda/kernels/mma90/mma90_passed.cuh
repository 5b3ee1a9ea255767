// How sums of mma90_persistent.cuh become rows of y where each thread stores its own: they pass through some shared
// memory of their warp, so that lanes get 8 neighbouring columns, or single ones side by side.
#pragma once

#include "mma90_persistent.cuh"

// What becomes of kWidth sums, in one store.
template <typename T, int kWidth>
struct Finished {
  Pack<T, kWidth> pack;

  __device__ __forceinline__ void set(const float (&value)[kWidth]) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) pack.e[i] = Element<T>::store(value[i]);
  }
  __device__ __forceinline__ void store(T* to) const { *(Pack<T, kWidth>*)to = pack; }
};
template <typename T>
struct FinishedHalves {
  unsigned pairs[4];

  __device__ __forceinline__ void set(const float (&value)[8]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = packed<T>(value[2 * i], value[2 * i + 1]);
  }
  __device__ __forceinline__ void store(T* to) const { storeAtOnce(to, pairs); }
};
template <>
struct Finished<f16, 8> : FinishedHalves<f16> {};
template <>
struct Finished<bf16, 8> : FinishedHalves<bf16> {};
template <>
struct Finished<f32, 8> {
  unsigned words[2][4];

  __device__ __forceinline__ void set(const float (&value)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) words[i / 4][i % 4] = (unsigned)__float_as_int(value[i]);
  }
  __device__ __forceinline__ void store(f32* to) const {
    storeAtOnce(to, words[0]);
    storeAtOnce(to + 4, words[1]);
  }
};

// M: the product.
template <typename M>
struct Passed {
  typedef typename M::Y Y;
  typedef typename M::Finish Finish;
  static const int kWidth = M::kWidth;
  static const int kWarpRows = 16, kWarpColumns = 16;  // of a pass
  static const int kPitch = 20;                        // of its rows, in floats
  static const int kOfPass = kWarpRows * kPitch;
  static const int kPasses = M::kRows / kWarpRows;
  static const int kUnits = kWidth == 8 ? 1 : kWarpRows * kWarpColumns / 32;  // of a lane in a pass
  static const int kAll = M::kRuns * kPasses;                                 // passes of a tile
  typedef typename Finish::template Inputs<kWidth> Inputs;
  typedef typename Finish::template ColumnInputs<kWidth> ColumnInputs;
  typedef Pack<float, 4> Four;
  static_assert(8 * 2 * kOfPass * 4 <= kMma90EndingBytes, "two passes of each warp have no place");

  __device__ __forceinline__ Passed(const Mma90Parameters& p, const typename M::Place& at, int group) {
    prepare(p, at, M::firstTile(group), group);
  }
  __device__ __forceinline__ static void openBarriers(const typename M::Place&) {}
  __device__ __forceinline__ static void carry(const Mma90Parameters&, const typename M::Place&, int) {}

  // What the epilogue reads of a tile comes as far as the cache.
  __device__ __forceinline__ static void prepare(const Mma90Parameters& p, const typename M::Place& at, int number,
                                                 int group) {
    if (!Finish::kReads || M::isOver(p, number)) return;
    const typename M::Tile tile(p, at, number);
    const int first = M::columnOf(tile, group);
#pragma unroll 1
    for (int i = threadIdx.x % 128; i < M::kRows * M::kRuns; i += 128) {
      const int row = tile.firstRow + i / M::kRuns, column = first + i % M::kRuns * kMma90Columns;
      if (row < p.rows && column < p.columns) Finish::fetch(p, (i64)row * p.columns + column);
    }
  }

  // What a lane finishes of a pass: a pack of a row, or single columns of some rows. Rows in an order in which lanes
  // that read together read from different banks.
  __device__ __forceinline__ static int rowOf(int lane) {
    if (kWidth != 8) return lane / 16;
    const int pair = lane / 2;
    return (pair & 9) | (pair & 2) << 1 | (pair & 4) >> 1;
  }
  __device__ __forceinline__ static int columnOf(int lane) { return kWidth != 8 ? lane % 16 : lane % 2 * 8; }

  // The passes whose inputs have been asked for when one begins.
  __device__ static constexpr int askedFor(int pass) {
    return pass < 0 || kWidth != 8 ? 0 : pass + 4 < kAll ? pass + 4 : kAll;
  }

  __device__ __forceinline__ void finish(const float (&c)[M::kRuns][M::kRows / 8][4], const Mma90Parameters& p,
                                         const typename M::Place& at, const typename M::Tile& tile, int group) {
    const int lane = threadIdx.x % 32;
    float* const passed = (float*)at.passed + threadIdx.x / 32 * 2 * kOfPass;
    float* const to = passed + lane % 4 * 2 * kPitch + lane / 4;
    const float* const from = passed + rowOf(lane) * kPitch + columnOf(lane);
    const int rows = p.rows - tile.firstRow - rowOf(lane);
    const int column = M::columnOf(tile, group) + threadIdx.x % 128 / 32 * kWarpColumns + columnOf(lane);
    i64 asked = (i64)(tile.firstRow + rowOf(lane)) * p.columns + column;
    i64 place = asked;
    const i64 ofPass = (i64)kWarpRows * p.columns;
    const i64 toNextRun = kMma90Columns - (kPasses - 1) * ofPass;
    ColumnInputs fixed;
    Inputs inputs[kAll];
    float value[2][kUnits][kWidth];
    syncWarp();  // the tile before has been read
    passOn(c[0], 0, to);
    syncWarp();
    readPass(value[0], from);
    if (kAll > 1) passOn(c[1 / kPasses], 1 % kPasses, to + kOfPass);
#pragma unroll
    for (int all = 0; all < kAll; ++all) {
#pragma unroll
      for (int i = askedFor(all - 1); i < askedFor(all); ++i) {
        inputs[i] = {};  // else they would keep their registers from tile to tile
        if (column + i / kPasses * kMma90Columns < p.columns && i % kPasses * kWarpRows < rows)
          Finish::load(p, asked, inputs[i]);
        asked += i % kPasses == kPasses - 1 ? toNextRun : ofPass;
      }
      const int run = all / kPasses, pass = all % kPasses;
      const bool hasColumn = column + run * kMma90Columns < p.columns;
      if (pass == 0) fixed = {};
      if (pass == 0 && hasColumn) Finish::loadColumns(p, column + run * kMma90Columns, fixed);
      // While a pass is computed the next one is read, and the one behind it goes where this one has been read.
      syncWarp();
      if (all + 1 < kAll) readPass(value[(all + 1) % 2], from + (all + 1) % 2 * kOfPass);
      if (all + 2 < kAll) passOn(c[(all + 2) / kPasses], (all + 2) % kPasses, to + all % 2 * kOfPass);
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        if (!hasColumn || pass * kWarpRows + 2 * unit >= rows) continue;
        const i64 own = place + (i64)(2 * unit) * p.columns;
        if (kWidth != 8) Finish::load(p, own, inputs[all]);
        Finished<Y, kWidth> result;
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          value[all % 2][unit][i] = Finish::compute(value[all % 2][unit][i], inputs[all], i, fixed, i);
        result.set(value[all % 2][unit]);
        result.store((Y*)p.data[0] + own);
      }
      place += pass == kPasses - 1 ? toNextRun : ofPass;
    }
  }

 private:
  __device__ __forceinline__ static void passOn(const float (&c)[M::kRows / 8][4], int pass, float* to) {
#pragma unroll
    for (int i = 0; i < 8; ++i) to[(i / 4 * 8 + i % 2) * kPitch + i % 4 / 2 * 8] = c[2 * pass + i / 4][i % 4];
  }
  __device__ __forceinline__ static void readPass(float (&value)[kUnits][kWidth], const float* from) {
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) readPassed(value[unit], from + 2 * unit * kPitch);
  }
  __device__ __forceinline__ static void readPassed(float (&value)[8], const float* from) {
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      const Four four = *(const Four*)(from + i);
#pragma unroll
      for (int e = 0; e < 4; ++e) value[i + e] = four.e[e];
    }
  }
  __device__ __forceinline__ static void readPassed(float (&value)[1], const float* from) { value[0] = *from; }
};
