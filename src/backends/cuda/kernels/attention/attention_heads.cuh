// Where the operands of a head begin, of attention by tensor cores. The including text defines X.
#pragma once

#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "prelude.cuh"
#include "tensor_core.cuh"

__device__ __forceinline__ const X* queriesOf(const FlashParameters& p, i64 batch, i64 head) {
  return (const X*)p.q + batch * p.qStride[0] + head * p.qStride[1];
}
__device__ __forceinline__ const X* keysOf(const FlashParameters& p, i64 batch, i64 head) {
  return (const X*)p.k + batch * p.kStride[0] + (i64)((unsigned)head / p.sharing) * p.kStride[1];
}
__device__ __forceinline__ const X* valuesOf(const FlashParameters& p, i64 batch, i64 head) {
  return (const X*)p.v + batch * p.vStride[0] + (i64)((unsigned)head / p.sharing) * p.vStride[1];
}
__device__ __forceinline__ const X* maskOf(const FlashParameters& p, i64 batch, i64 head) {
  const i64 turn = batch - (i64)((unsigned)batch / p.masks) * p.masks.divisor;
  return (const X*)p.mask + turn * p.maskStride[0] + head * p.maskStride[1];
}
__device__ __forceinline__ X* resultsOf(const FlashParameters& p, i64 batch, i64 head) {
  return (X*)p.y + batch * p.yStride[0] + head * p.yStride[1];
}

// What a row's weighted values are multiplied by. A row without a sum may have to be 0; one whose sum is NaN then is 0
// as well, whatever its values are.
struct RowFactor {
  float factor;
  bool isNothing;

  __device__ __forceinline__ RowFactor(const FlashParameters& p, float sum) {
    const bool isZero = p.keys == 0 || (p.emptyIsZero && !(sum > 0.f));
    factor = isZero ? 0.f : 1.f / sum;
    isNothing = isZero && sum != 0.f;
  }
  template <typename H>
  __device__ __forceinline__ unsigned packedOf(float low, float high) const {
    return isNothing ? 0u : packed<H>(low * factor, high * factor);
  }
};
