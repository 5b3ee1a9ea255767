// Bits of one type as those of another: X, Y.
#include "backends/cuda/kernels/movement/bitcast_parameters.h"
#include "prelude.cuh"

template <typename To>
__device__ inline To sameBits(const X& from) {
  union {
    X from;
    To to;
  } both;
  both.from = from;
  return both.to;
}
template <>
__device__ inline b8 sameBits<b8>(const X& from) {
  const unsigned char bits = *(const unsigned char*)&from;
  return {(unsigned char)(bits != 0)};
}

KERNEL(tenon_bitcast, BitCastParameters) {
  const i64 i = globalIndex();
  if (i < p.count) ((Y*)p.y)[i] = sameBits<Y>(((const X*)p.x)[i]);
}
