// All steps of a recurrent network in one launch, the matrix of the state in registers. X: element type; COLUMNS of the
// matrix in a thread, a multiple of 4; TILE: gates in a thread, which divide the cell's; SLICES: threads of a row, a
// power of two; ROWS of the batch at most, a power of two; MEETING: 0 one block, 1 a cluster, 2 all blocks through
// global memory (a cooperative launch); the others: recurrent.cuh.
//
// A block has `units` units of a direction and all their gates for up to ROWS rows of the batch: threads SLICES * g + s
// have slice s of the gates TILE * g and on, all gates of a unit behind each other. In each step they multiply these
// with the state of all units, which lies in shared memory; the sums of a row's threads join by shuffles, a thread for
// each unit and row of the batch computes the new state and gives it to all blocks of the direction.
#include "bulk_copies.cuh"
#include "recurrent_plain.cuh"  // for sizes that a plan was not tuned for

constexpr int kThreads = 512;
constexpr int kPadded = COLUMNS * SLICES;  // units, with those of zeros behind the last
constexpr int kTilesOfUnit = kGates / TILE;
constexpr int kMostUnits = kThreads / SLICES / kTilesOfUnit;
constexpr int kTogether = ROWS < 4 ? ROWS : 4;             // rows of the batch whose sums are joined at once
constexpr int kSums = kTogether * (TILE == 3 ? 4 : TILE);  // a power of two
constexpr int kItems = (kMostUnits * ROWS + kThreads - 1) / kThreads;  // states of a thread
constexpr int kHeld = kItems < 2 ? kItems : 2;  // of which so many have their products asked for a step ahead

struct Shared {
  float states[2][ROWS][kPadded];
  float sums[ROWS][kMostUnits * kGates];
  float cells[ROWS][kMostUnits];
};
constexpr int kSharedBytes = (int)(sizeof(Shared) + 1023) / 1024 * 1024;

__device__ __forceinline__ void giveToBlocks(const RecurrentParameters& p, float* place, float value) {
  if (MEETING == 1) {
    Pack<float, 1> one;
    one.e[0] = value;
    for (int rank = 0; rank < p.parts; ++rank) storeToBlock(place, rank, one);
  } else {
    *place = value;
  }
}

// Joins kSums values over the SLICES threads of a row: each keeps a half of them and gives the other one away as long
// as it has several. Thread `slice` ends with the values [first, first + kLeft); others may have the same.
constexpr int kLeft = kSums > SLICES ? kSums / SLICES : 1;
__device__ __forceinline__ int joinSums(float (&sum)[kSums], int slice) {
  int first = 0;
#pragma unroll
  for (int mask = SLICES / 2, count = kSums; mask > 0; mask /= 2) {
    if (count > 1) {
      count /= 2;
      const bool isUpper = (slice & mask) != 0;
      if (isUpper) first += count;
#pragma unroll
      for (int i = 0; i < kSums / 2; ++i) {
        if (i >= count) continue;
        const float kept = isUpper ? sum[i + count] : sum[i];
        const float given = isUpper ? sum[i] : sum[i + count];
        sum[i] = kept + shuffleXor(given, mask);
      }
    } else {
      sum[0] += shuffleXor(sum[0], mask);
    }
  }
  return first;
}

KERNEL_BOUNDED(__launch_bounds__(kThreads), tenon_recurrent_resident, RecurrentParameters) {
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
  const int tile = threadIdx.x / SLICES;  // of all gates of all units, unit by unit
  const i64 line = (i64)direction * p.batch + firstRow;

  float weights[TILE][COLUMNS];
#pragma unroll
  for (int g = 0; g < TILE; ++g) {
    const int unit = tile / kTilesOfUnit, gate = tile % kTilesOfUnit * TILE + g;
    const i64 from = (((i64)direction * kGates + gate) * p.hidden + firstUnit + unit) * p.hidden;
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const int column = (i / 4 * SLICES + slice) * 4 + i % 4;
      weights[g][i] = unit < units && column < p.hidden ? load<X>(p.weights, from + column) : 0.f;
    }
  }
  for (int i = threadIdx.x; i < ROWS * kPadded; i += blockDim.x) {
    const int r = i / kPadded, unit = i % kPadded;
    const bool inside = p.first != nullptr && r < rows && unit < p.hidden;
    shared.states[0][r][unit] = inside ? load<X>(p.first, (line + r) * p.hidden + unit) : 0.f;
    shared.states[1][r][unit] = 0.f;
  }
  for (int i = threadIdx.x; i < rows * units; i += blockDim.x) {
    const int r = i / units, unit = i % units;
    const bool inside = CELL == 2 && p.firstCell != nullptr;
    shared.cells[r][unit] = inside ? load<X>(p.firstCell, (line + r) * p.hidden + firstUnit + unit) : 0.f;
  }

  // A thread's states are those of items threadIdx.x, threadIdx.x + blockDim.x, ... of rows * p.units.
  const auto rowOf = [&](int item) { return item / p.units; };
  const auto unitOfItem = [&](int item) { return item % p.units; };
  const auto isOwn = [&](int item) { return rowOf(item) < rows && unitOfItem(item) < units; };
  const auto timeOf = [&](int step) { return isReverse ? p.steps - 1 - step : step; };
  const auto askFor = [&](int step, int item, float* in) {
    const i64 place = ((i64)timeOf(step) * p.batch + firstRow + rowOf(item)) * p.directions + direction;
#pragma unroll
    for (int gate = 0; gate < kGates; ++gate)
      in[gate] = load<X>(p.products, (place * kGates + gate) * p.hidden + firstUnit + unitOfItem(item));
  };
  Unit own[kHeld];
  float ahead[kHeld][kGates];
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    const int item = threadIdx.x + k * blockDim.x;
    if (!isOwn(item)) continue;
    own[k] = unitOf(p, direction, firstUnit + unitOfItem(item));
    if (p.steps > 0) askFor(0, item, ahead[k]);
  }
  __syncthreads();
  if (MEETING == 1) {
    arriveAtCluster();  // nobody stores into a block that fills its states still
    waitForCluster();
  }

  for (int step = 0; step < p.steps; ++step) {
    const int time = timeOf(step), now = step % 2, next = 1 - now;
    float in[kHeld][kGates];
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const int item = threadIdx.x + k * blockDim.x;
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) in[k][gate] = ahead[k][gate];
      if (step + 1 < p.steps && isOwn(item)) askFor(step + 1, item, ahead[k]);
    }
    for (int firstOfSums = 0; firstOfSums < rows; firstOfSums += kTogether) {
      float sum[kSums];
#pragma unroll
      for (int i = 0; i < kSums; ++i) sum[i] = 0.f;
#pragma unroll
      for (int i = 0; i < COLUMNS / 4; ++i) {
#pragma unroll
        for (int r = 0; r < kTogether; ++r) {
          const Pack<float, 4> h = ((const Pack<float, 4>*)shared.states[now][firstOfSums + r])[i * SLICES + slice];
#pragma unroll
          for (int g = 0; g < TILE; ++g) {
#pragma unroll
            for (int k = 0; k < 4; ++k) sum[g * kTogether + r] += weights[g][i * 4 + k] * h.e[k];
          }
        }
      }
      const int first = joinSums(sum, slice);
#pragma unroll
      for (int i = 0; i < kLeft; ++i) {
        const int g = (first + i) / kTogether, r = (first + i) % kTogether;
        if (g < TILE && tile < units * kTilesOfUnit) shared.sums[firstOfSums + r][tile * TILE + g] = sum[i];
      }
    }
    __syncthreads();
    float out[kHeld];
    const auto advance = [&](int item, const Unit& unit, const float* products) {
      const int r = rowOf(item), u = unitOfItem(item), at = firstUnit + u;
      const float before = shared.states[now][r][at];
      float cell = shared.cells[r][u];
      const float computed = stepOf(unit, products, &shared.sums[r][u * kGates], before, cell);
      const bool there = isThere(p, firstRow + r, time);
      const float state = there ? computed : before;
      if (there) shared.cells[r][u] = cell;
      if (MEETING == 2) p.exchange[(((i64)group * 2 + next) * p.rows + r) * p.hidden + at] = state;
      giveToBlocks(p, &shared.states[next][r][at], state);
      return there ? computed : 0.f;
    };
    const auto write = [&](int item, float value) {
      const i64 place = ((i64)time * p.batch + firstRow + rowOf(item)) * p.directions + direction;
      store<X>(p.y, place * p.hidden + firstUnit + unitOfItem(item), value);
    };
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const int item = threadIdx.x + k * blockDim.x;
      if (isOwn(item)) out[k] = advance(item, own[k], in[k]);
    }
    for (int item = threadIdx.x + kHeld * blockDim.x; item < rows * p.units; item += blockDim.x) {
      if (!isOwn(item)) continue;
      float products[kGates];
      askFor(step, item, products);
      write(item, advance(item, unitOf(p, direction, firstUnit + unitOfItem(item)), products));
    }
    // Results are written behind the announcement, which would wait for them.
    if (MEETING == 1) arriveAtCluster();
    if (MEETING == 2) announceToBlocks(p.arrived + group);
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const int item = threadIdx.x + k * blockDim.x;
      if (isOwn(item)) write(item, out[k]);
    }
    if (MEETING == 1) {
      waitForCluster();
      continue;
    }
    if (MEETING == 2) {
      waitForBlocks(p.arrived + group, (unsigned)(p.parts * (step + 1)));
      const float* const from = p.exchange + ((i64)group * 2 + next) * p.rows * p.hidden;
      for (int i = threadIdx.x; i < rows * p.hidden; i += blockDim.x) {
        shared.states[next][i / p.hidden][i % p.hidden] = loadFresh(from + i);
      }
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < rows * units; i += blockDim.x) {
    const int r = i / units, unit = i % units;
    const i64 to = (line + r) * p.hidden + firstUnit + unit;
    if (p.last != nullptr) store<X>(p.last, to, shared.states[p.steps % 2][r][firstUnit + unit]);
    if (p.lastCell != nullptr) store<X>(p.lastCell, to, shared.cells[r][unit]);
  }
}
