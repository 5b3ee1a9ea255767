// The pairs of box and class whose score is high enough, and the best `limit` of them. A key orders the candidates of
// an item: the score, then a place that tells box and class. Whoever includes this says which pairs are candidates
// (isCandidate) and what their places are (placeOf). X: type of boxes and scores.
#pragma once

#include "backends/cuda/kernels/suppression/suppression_parameters.h"
#include "key_sort.cuh"
#include "prelude.cuh"

// Pairs stand as in the scores: box by box.
__device__ bool isCandidate(const SuppressionParameters& p, i64 pair, float score);
__device__ unsigned placeOf(const SuppressionParameters& p, i64 pair);

// Higher scores first; 0 and -0 are equal, and no NaN comes here.
__device__ Key keyOf(float score, unsigned place) {
  if (score == 0.f) score = 0.f;
  const unsigned bits = (unsigned)__float_as_int(score);
  const unsigned order = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return (Key)~order << 32 | place;
}
__device__ bool candidateAt(const SuppressionParameters& p, i64 item, i64 pair, Key& key) {
  const float score = load<X>(p.scores, item * p.pairs + pair);
  if (!isCandidate(p, pair, score)) return false;
  key = keyOf(score, placeOf(p, pair));
  return true;
}

__device__ int digitShift(int pass) {
  constexpr int kShifts[kSelectPasses] = {53, 42, 32, 21, 10, 0};
  return kShifts[pass];
}
__device__ unsigned digitMask(int pass) { return pass % 3 == 2 ? 1023u : 2047u; }

struct SelectShared {
  unsigned ofWarps[kSuppressionThreads / 32];
  SelectState state;
};

// The state before a pass, from the state and the counts of digits of the one before it; all threads of the block.
__device__ SelectState stateBefore(const SuppressionParameters& p, i64 item, int pass, SelectShared& s) {
  if (pass == 0) return {0, (Key)p.limit, 0};
  const SelectState last = p.states[item * kSelectPasses + pass - 1];
  if (last.done) return last;
  constexpr int kOwn = kSelectBins / kSuppressionThreads;
  const unsigned* const bins = p.histograms + (item * kSelectPasses + pass - 1) * kSelectBins + threadIdx.x * kOwn;
  unsigned own = 0;
  for (int k = 0; k < kOwn; ++k) own += bins[k];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  unsigned upTo = own;
  for (int delta = 1; delta < 32; delta *= 2) {
    const unsigned below = shuffleUp(upTo, delta);
    if (lane >= delta) upTo += below;
  }
  if (lane == 31) s.ofWarps[warp] = upTo;
  const int shift = digitShift(pass - 1);
  // Where there are no more than are needed, all are taken.
  if (threadIdx.x == 0) s.state = {last.prefix | ((1ull << shift) * digitMask(pass - 1)) | ((1ull << shift) - 1), 0, 1};
  __syncthreads();
  for (int k = 0; k < warp; ++k) upTo += s.ofWarps[k];
  Key before = upTo - own;
  if (before < last.need && last.need <= upTo) {  // one thread at most
    int digit = 0;
    while (before + bins[digit] < last.need) before += bins[digit++];
    const Key prefix = last.prefix | (Key)(threadIdx.x * kOwn + digit) << shift;
    const bool whole = before + bins[digit] == last.need;
    s.state = {whole ? prefix | ((1ull << shift) - 1) : prefix, last.need - before, whole ? 1ull : 0ull};
  }
  __syncthreads();
  return s.state;
}

__device__ i64 firstPair(const SuppressionParameters& p) {
  return blockIdx.x % p.blocks * (kSuppressionThreads * kSelectedOfThread);
}
__device__ i64 endOfPairs(const SuppressionParameters& p) {
  const i64 end = firstPair(p) + kSuppressionThreads * kSelectedOfThread;
  return end < p.pairs ? end : p.pairs;
}

// How often each next digit occurs among the keys between.
KERNEL(tenon_suppression_digits, SuppressionParameters) {
  __shared__ SelectShared shared;
  __shared__ unsigned bins[kSelectBins];
  const i64 item = blockIdx.x / p.blocks;
  const SelectState state = stateBefore(p, item, p.pass, shared);
  if (blockIdx.x % p.blocks == 0 && threadIdx.x == 0) p.states[item * kSelectPasses + p.pass] = state;
  if (state.done) return;
  for (int k = threadIdx.x; k < kSelectBins; k += kSuppressionThreads) bins[k] = 0;
  __syncthreads();
  const int shift = digitShift(p.pass);
  const Key above = p.pass == 0 ? 0 : ~0ull << digitShift(p.pass - 1);
  const i64 end = endOfPairs(p);
  for (i64 pair = firstPair(p) + threadIdx.x; pair < end; pair += kSuppressionThreads) {
    Key key = 0;
    if (candidateAt(p, item, pair, key) && ((key ^ state.prefix) & above) == 0)
      addShared(&bins[key >> shift & digitMask(p.pass)], 1);
  }
  __syncthreads();
  unsigned* const all = p.histograms + (item * kSelectPasses + p.pass) * kSelectBins;
  for (int k = threadIdx.x; k < kSelectBins; k += kSuppressionThreads) {
    if (bins[k] != 0) addGlobal(&all[k], bins[k]);
  }
}

// Keys of the candidates that are taken, in any order.
KERNEL(tenon_suppression_collect, SuppressionParameters) {
  __shared__ SelectShared shared;
  __shared__ unsigned found, begin;
  const i64 item = blockIdx.x / p.blocks;
  Key last = kNoKey;
  if (p.limit < p.pairs) last = stateBefore(p, item, kSelectPasses, shared).prefix;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  const i64 end = endOfPairs(p);
  unsigned own = 0;
  Key key = 0;
  for (i64 pair = firstPair(p) + threadIdx.x; pair < end; pair += kSuppressionThreads)
    own += candidateAt(p, item, pair, key) && key <= last ? 1 : 0;
  const unsigned place = own == 0 ? 0 : addShared(&found, own);
  __syncthreads();
  if (threadIdx.x == 0) begin = addGlobal(&p.counts[item], found);
  __syncthreads();
  if (own == 0) return;
  Key* to = (Key*)p.keys + item * p.capacity + begin + place;
  for (i64 pair = firstPair(p) + threadIdx.x; pair < end; pair += kSuppressionThreads) {
    if (candidateAt(p, item, pair, key) && key <= last) *to++ = key;
  }
}
