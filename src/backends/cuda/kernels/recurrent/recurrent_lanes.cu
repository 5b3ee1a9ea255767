// All steps of a recurrent network in one launch for one row of the batch and few units: what one step waits for is
// what counts. X: element type; COLUMNS of the matrix in a thread, a multiple of 4; SLICES: threads of a unit, a power
// of two, 4 or more; ALIKE: whether the first function is the sigmoid and the second the hyperbolic tangent; MEETING: 0
// one block, 1 a cluster, 2 all blocks through global memory (a cooperative launch); the others: recurrent.cuh.
//
// A block has `units` units of a direction; threads SLICES * u + s have slice s of all gates of unit u in registers. In
// each step they multiply these with the state, which lies in shared memory, and join their sums so that each gate ends
// in lanes of its own, which apply its function; then every lane of the unit gets all gates and computes the new state.
// One barrier separates the steps.
#include "bulk_copies.cuh"
#include "recurrent_plain.cuh"  // for sizes that a plan was not tuned for

constexpr int kThreads = 512;
constexpr int kPadded = COLUMNS * SLICES;  // units, with those of zeros behind the last
constexpr int kSums = kGates == 1 ? 1 : 4;

struct Shared {
  float states[2][kPadded];
};
constexpr int kSharedBytes = (int)(sizeof(Shared) + 1023) / 1024 * 1024;

// Lane of a unit's lanes in which a gate's sum ends: the upper half has gates 2 and 3, the upper half of each half the
// odd ones.
__device__ constexpr int laneOf(int gate) { return gate / 2 * (SLICES / 2) + gate % 2 * (SLICES / 4); }

__device__ __forceinline__ float joinGates(float (&sum)[kSums], int slice) {
  int mask = SLICES / 2;
#pragma unroll
  for (int count = kSums / 2; count > 0; count /= 2, mask /= 2) {
    const bool isUpper = (slice & mask) != 0;
#pragma unroll
    for (int i = 0; i < kSums / 2; ++i) {
      if (i >= count) continue;
      const float kept = isUpper ? sum[i + count] : sum[i];
      const float given = isUpper ? sum[i] : sum[i + count];
      sum[i] = kept + shuffleXor(given, mask);
    }
  }
  for (; mask > 0; mask /= 2) sum[0] += shuffleXor(sum[0], mask);
  return sum[0];
}

// The function of the lane's gate. Where both functions are ratios with an exponential, one computation serves all.
__device__ __forceinline__ float activated(float unbounded, bool isSecond) {
  if (!ALIKE) return isSecond ? secondOf(unbounded) : firstOf(unbounded);
  const float x = bounded(unbounded);
  const float ratio = quickDivide(1.f, 1.f + exponential((isSecond ? 2.f : -1.f) * x));
  const float square = x * x;
  const float series = x * (1.f - square * (0.333333333f - square * (0.133333333f - square * 0.053968254f)));
  return !isSecond ? ratio : square < 0.01f ? series : 1.f - 2.f * ratio;
}

KERNEL_BOUNDED(__launch_bounds__(kThreads), tenon_recurrent_resident, RecurrentParameters) {
  CLUSTER_SHARED(memory, kSharedBytes);
  Shared& shared = *(Shared*)memory;
  const int part = blockIdx.x, direction = blockIdx.y, row = blockIdx.z;
  const int group = row * p.directions + direction;
  const int firstUnit = part * p.units;
  const int slice = threadIdx.x % SLICES;
  const int at = firstUnit + threadIdx.x / SLICES;
  const bool isOwn = at < min(firstUnit + p.units, p.hidden);
  const bool isReverse = direction == 1 || p.reverse != 0;
  const i64 line = (i64)direction * p.batch + row;
  const int gate = kSums == 1 ? 0 : (slice & SLICES / 2 ? 2 : 0) + (slice & SLICES / 4 ? 1 : 0);
  const int group0 = (threadIdx.x & 31) - slice;  // the unit's first lane
  const auto ofGate = [&](float value, int which) { return shuffleFrom(value, group0 + laneOf(which)); };

  float weights[kGates][COLUMNS];
#pragma unroll
  for (int g = 0; g < kGates; ++g) {
    const i64 from = (((i64)direction * kGates + g) * p.hidden + at) * p.hidden;
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const int column = (i / 4 * SLICES + slice) * 4 + i % 4;
      weights[g][i] = isOwn && column < p.hidden ? load<X>(p.weights, from + column) : 0.f;
    }
  }
  for (int unit = threadIdx.x; unit < kPadded; unit += blockDim.x) {
    const bool inside = p.first != nullptr && unit < p.hidden;
    shared.states[0][unit] = inside ? load<X>(p.first, line * p.hidden + unit) : 0.f;
    shared.states[1][unit] = 0.f;
  }
  float state = isOwn && p.first != nullptr ? load<X>(p.first, line * p.hidden + at) : 0.f;
  float cell = CELL == 2 && isOwn && p.firstCell != nullptr ? load<X>(p.firstCell, line * p.hidden + at) : 0.f;
  const float bias = BIAS && isOwn ? load<X>(p.bias, (i64)direction * p.hidden + at) : 0.f;
  const i64 given = p.lengths == nullptr ? p.steps : (i64)load<L>(p.lengths, row);  // may be more than an int holds
  const int length = given < 0 ? 0 : given < p.steps ? (int)given : p.steps;

  // Where the products of the next step and the results of this one lie, and how far those of a step are apart.
  const int later = isReverse ? -1 : 1;
  int time = isReverse ? p.steps - 1 : 0;
  const i64 place = ((i64)time * p.batch + row) * p.directions + direction;
  const int asked = gate < kGates ? gate : kGates - 1;
  i64 inAt = (place * kGates + asked) * p.hidden + at, outAt = place * p.hidden + at;
  const i64 outStride = (i64)later * p.batch * p.directions * p.hidden, inStride = outStride * kGates;
  float ahead = p.steps > 0 && isOwn ? load<X>(p.products, inAt) : 0.f;
  __syncthreads();
  if (MEETING == 1) {
    arriveAtCluster();  // nobody stores into a block that fills its states still
    waitForCluster();
  }

  for (int step = 0; step < p.steps; ++step) {
    const int now = step % 2, next = 1 - now;
    Pack<float, 4> h[COLUMNS / 4];
#pragma unroll
    for (int i = 0; i < COLUMNS / 4; ++i) h[i] = ((const Pack<float, 4>*)shared.states[now])[i * SLICES + slice];
    const float in = ahead;
    inAt += inStride;
    if (step + 1 < p.steps && isOwn) ahead = load<X>(p.products, inAt);
    float sum[kSums];
#pragma unroll
    for (int i = 0; i < kSums; ++i) sum[i] = 0.f;
#pragma unroll
    for (int i = 0; i < COLUMNS / 4; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int g = 0; g < kGates; ++g) sum[g] += weights[g][i * 4 + k] * h[i].e[k];
      }
    }
    const float mine = joinGates(sum, slice);
    float computed, kept = cell;
    if (CELL == 2) {
      const float value = activated(in + mine, gate == 3);
      const float taken = ofGate(value, 0);
      kept = (COUPLED ? 1.f - taken : ofGate(value, 2)) * cell + taken * ofGate(value, 3);
      computed = ofGate(value, 1) * thirdOf(kept);
    } else if (CELL == 1) {
      const float value = firstOf(in + mine);
      const float z = ofGate(value, 0), reset = ofGate(value, 1);
      const float candidate = secondOf(ofGate(in, 2) + reset * (ofGate(mine, 2) + bias));
      computed = (1.f - z) * candidate + z * state;
    } else {
      computed = firstOf(in + mine);
    }
    const bool there = time < length;
    time += later;
    if (there) {
      state = computed;
      cell = kept;
    }
    const bool writes = slice == 0 && isOwn;
    if (MEETING == 0) {
      if (writes) shared.states[next][at] = state;
      __syncthreads();
    } else if (MEETING == 1) {
      Pack<float, 1> one;
      one.e[0] = state;
      for (int rank = slice; isOwn && rank < p.parts; rank += SLICES) storeToBlock(&shared.states[next][at], rank, one);
      arriveAtCluster();
    } else {
      if (writes) p.exchange[((i64)group * 2 + next) * p.hidden + at] = state;
      announceToBlocks(p.arrived + group);
    }
    // Results are written behind the barrier or the announcement, which would wait for them.
    if (writes) store<X>(p.y, outAt, there ? computed : 0.f);
    outAt += outStride;
    if (MEETING == 1) waitForCluster();
    if (MEETING == 2) {
      waitForBlocks(p.arrived + group, (unsigned)(p.parts * (step + 1)));
      const float* const from = p.exchange + ((i64)group * 2 + next) * p.hidden;
      for (int i = threadIdx.x; i < p.hidden; i += blockDim.x) shared.states[next][i] = loadFresh(from + i);
      __syncthreads();
    }
  }
  if (slice != 0 || !isOwn) return;
  if (p.last != nullptr) store<X>(p.last, line * p.hidden + at, state);
  if (p.lastCell != nullptr) store<X>(p.lastCell, line * p.hidden + at, cell);
}
