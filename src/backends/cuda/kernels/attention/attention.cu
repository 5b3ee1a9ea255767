// Attention of any type and width: a block per row and head walks the keys in tiles, with online softmax (running
// maximum and sum so far, in f32). X: element type.
#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "prelude.cuh"

constexpr int kThreads = kAttentionThreads;
constexpr int kWidest = 1024;

KERNEL(tenon_attention, AttentionParameters) {
  __shared__ float row[kWidest];
  __shared__ float result[kWidest];
  __shared__ float weight[kThreads];
  __shared__ float joined[32];
  const i64 query = blockIdx.x % p.queries;
  const i64 head = blockIdx.x / p.queries % p.heads;
  const i64 batch = blockIdx.x / p.queries / p.heads;
  const int thread = threadIdx.x;
  const i64 q = batch * p.qStride[0] + head * p.qStride[1] + query * p.qStride[2];
  const i64 k = batch * p.kStride[0] + head / p.sharing * p.kStride[1];
  const i64 v = batch * p.vStride[0] + head / p.sharing * p.vStride[1];
  const i64 y = batch * p.yStride[0] + head * p.yStride[1] + query * p.yStride[2];
  i64 masks[2] = {};
  if (p.mask != nullptr) locate(p.maskBatches, (unsigned)batch, masks);
  const i64 mask = masks[1] + head * p.maskStride[0] + query * p.maskStride[1];
  for (int c = thread; c < p.width; c += kThreads) row[c] = load<X>(p.q, q + c);
  for (int c = thread; c < p.valueWidth; c += kThreads) result[c] = 0.f;
  __syncthreads();
  float greatest = -infinity();
  float sum = 0.f;
  const i64 keys = p.causal != 0 && query + 1 < p.keys ? query + 1 : p.keys;  // that the row sees
  for (i64 first = 0; first < keys; first += kThreads) {
    const i64 key = first + thread;
    float score = -infinity();
    if (key < keys) {
      score = 0.f;
      for (int c = 0; c < p.width; ++c) score += row[c] * load<X>(p.k, k + key * p.kStride[2] + c);
      score *= p.scale;
      if (p.softcap != 0.f) score = p.softcap * tanhf(score);
      if (p.mask != nullptr) score += load<X>(p.mask, mask + key * p.maskStride[2]);
    }
    const float highest = fmaxf(greatest, blockReduce(score, Max{}, joined));
    const bool open = highest > -infinity();
    const float share = open ? expf(score - highest) : 0.f;
    const float kept = open && greatest > -infinity() ? expf(greatest - highest) : 0.f;
    weight[thread] = share;
    sum = sum * kept + blockReduce(share, Add{}, joined);
    greatest = highest;
    __syncthreads();
    const int many = keys - first < kThreads ? (int)(keys - first) : kThreads;
    for (int c = thread; c < p.valueWidth; c += kThreads) {
      float value = result[c] * kept;
      for (int j = 0; j < many; ++j) value += weight[j] * load<X>(p.v, v + (first + j) * p.vStride[2] + c);
      result[c] = value;
    }
    __syncthreads();
  }
  // Without a sum the result is that of weights of 0: NaN where a value is infinite.
  const bool isZero = p.keys == 0 || (p.emptyIsZero && !(sum > 0.f));
  for (int c = thread; c < p.valueWidth; c += kThreads)
    store<X>(p.y, y + c, isZero ? (sum == 0.f ? result[c] : 0.f) : result[c] / sum);
}
