// All steps of a recurrent network in one launch, the matrix of the state in registers. X: element type; COLUMNS of the
// matrix in a thread, a multiple of 4; SLICES: threads of one row, a power of two; ROWS of the batch at most; MEETING: 0
// one block, 1 a cluster, 2 all blocks through global memory (a cooperative launch); the others: recurrent.cuh.
//
// A block has `units` units of a direction and all their gates for up to ROWS rows of the batch: thread SLICES * r + s
// has slice s of row r = unit * gates + gate of its part of the matrix. In each step it multiplies these with the state
// of all units, which lies in shared memory; the sums of a row's threads join by shuffles, a thread for each unit and
// row of the batch computes the new state and gives it to all blocks of the direction.
#include "bulk_copies.cuh"
#include "recurrent.cuh"

constexpr int kPadded = COLUMNS * SLICES;  // units, with those of zeros behind the last
constexpr int kMostRows = 512 / SLICES;    // of the matrix in a block
constexpr int kMostUnits = kMostRows / kGates;

struct Shared {
  float states[2][ROWS][kPadded];
  float sums[ROWS][kMostRows];
  float cells[ROWS][kMostUnits];
};
constexpr int kSharedBytes = (int)(sizeof(Shared) + 1023) / 1024 * 1024;

__device__ __forceinline__ void giveToBlocks(const RecurrentParameters& p, float* place, float value) {
#if MEETING == 1
  Pack<float, 1> one;
  one.e[0] = value;
  for (int rank = 0; rank < p.parts; ++rank) storeToBlock(place, rank, one);
#else
  *place = value;
#endif
}

KERNEL_BOUNDED(__launch_bounds__(512), tenon_recurrent_resident, RecurrentParameters) {
  CLUSTER_SHARED(memory, kSharedBytes);
  Shared& shared = *(Shared*)memory;
  const int part = blockIdx.x, direction = blockIdx.y;
  const int firstRow = blockIdx.z * p.rows;
  const int rows = min(p.rows, p.batch - firstRow);
  const int group = blockIdx.z * p.directions + direction;
  const int firstUnit = part * p.units;
  const int units = min(p.units, p.hidden - firstUnit);
  const bool isReverse = direction == 1 || p.reverse != 0;
  const int slice = threadIdx.x % SLICES;
  const int row = threadIdx.x / SLICES;

  float weights[COLUMNS];
  {
    const int unit = firstUnit + row / kGates;
    const bool inside = row < units * kGates;
    const i64 from = ((i64)direction * kGates * p.hidden + (i64)(row % kGates) * p.hidden + unit) * p.hidden;
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const int column = (i / 4 * SLICES + slice) * 4 + i % 4;
      weights[i] = inside && column < p.hidden ? load<X>(p.weights, from + column) : 0.f;
    }
  }
  for (int i = threadIdx.x; i < ROWS * kPadded; i += blockDim.x) {
    const int r = i / kPadded, unit = i % kPadded;
    const bool inside = p.first != nullptr && r < rows && unit < p.hidden;
    const i64 from = ((i64)direction * p.batch + firstRow + r) * p.hidden + unit;
    shared.states[0][r][unit] = inside ? load<X>(p.first, from) : 0.f;
    shared.states[1][r][unit] = 0.f;
  }
  for (int i = threadIdx.x; i < rows * units; i += blockDim.x) {
    const int r = i / units, unit = i % units;
    const i64 from = ((i64)direction * p.batch + firstRow + r) * p.hidden + firstUnit + unit;
    shared.cells[r][unit] = CELL == 2 && p.firstCell != nullptr ? load<X>(p.firstCell, from) : 0.f;
  }
  __syncthreads();
#if MEETING == 1
  arriveAtCluster();  // nobody stores into a block that fills its states still
  waitForCluster();
#endif

  const i64 width = (i64)p.directions * p.hidden;  // of a row of y
  for (int step = 0; step < p.steps; ++step) {
    const int time = isReverse ? p.steps - 1 - step : step;
    const i64 place = (i64)time * p.batch + firstRow;
    float ahead[kGates];  // products with the input, asked for before those with the state are computed
    const int ownRow = threadIdx.x / p.units, ownUnit = threadIdx.x % p.units;
    const bool isOwner = ownRow < rows && ownUnit < units;
    const auto product = [&](int r, int unit, int gate) {
      const i64 at = ((place + r) * p.directions + direction) * kGates * p.hidden;
      return load<X>(p.products, at + (i64)gate * p.hidden + firstUnit + unit);
    };
    if (isOwner) {
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) ahead[gate] = product(ownRow, ownUnit, gate);
    }
    for (int r = 0; r < rows; ++r) {
      const Pack<float, 4>* const state = (const Pack<float, 4>*)shared.states[step % 2][r] + slice;
      float sum[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll
      for (int i = 0; i < COLUMNS / 4; ++i) {
        const Pack<float, 4> h = state[i * SLICES];
#pragma unroll
        for (int k = 0; k < 4; ++k) sum[k] += weights[i * 4 + k] * h.e[k];
      }
      float all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
#pragma unroll
      for (int mask = SLICES / 2; mask > 0; mask /= 2) all += shuffleXor(all, mask);
      if (slice == 0) shared.sums[r][row] = all;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < rows * p.units; i += blockDim.x) {
      const int r = i / p.units, unit = i % p.units;
      if (unit >= units) continue;
      const int at = firstUnit + unit;
      float in[kGates];
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) {
        in[gate] = i == (int)threadIdx.x ? ahead[gate] : product(r, unit, gate);
      }
      const float before = shared.states[step % 2][r][at];
      float cell = shared.cells[r][unit];
      float state = stepOf(unitOf(p, direction, at), in, &shared.sums[r][unit * kGates], before, cell);
      const bool there = isThere(p, firstRow + r, time);
      store<X>(p.y, (place + r) * width + (i64)direction * p.hidden + at, there ? state : 0.f);
      state = there ? state : before;
      if (there) shared.cells[r][unit] = cell;
#if MEETING == 2
      p.exchange[(((i64)group * 2 + (step + 1) % 2) * p.rows + r) * p.hidden + at] = state;
#endif
      giveToBlocks(p, &shared.states[(step + 1) % 2][r][at], state);
    }
#if MEETING == 1
    arriveAtCluster();
    waitForCluster();
#elif MEETING == 2
    meetBlocks(p.arrived + group, (unsigned)(p.parts * (step + 1)));
    const float* const from = p.exchange + ((i64)group * 2 + (step + 1) % 2) * p.rows * p.hidden;
    for (int i = threadIdx.x; i < rows * p.hidden; i += blockDim.x) {
      shared.states[(step + 1) % 2][i / p.hidden][i % p.hidden] = loadFresh(from + i);
    }
    __syncthreads();
#else
    __syncthreads();
#endif
  }
  for (int i = threadIdx.x; i < rows * units; i += blockDim.x) {
    const int r = i / units, unit = i % units;
    const i64 to = ((i64)direction * p.batch + firstRow + r) * p.hidden + firstUnit + unit;
    if (p.last != nullptr) store<X>(p.last, to, shared.states[p.steps % 2][r][firstUnit + unit]);
    if (p.lastCell != nullptr) store<X>(p.lastCell, to, shared.cells[r][unit]);
  }
}
