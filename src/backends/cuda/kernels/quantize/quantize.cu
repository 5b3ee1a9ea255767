// Quantization (QUANTIZE 1) and its way back (0) with a scale per tensor, axis or block. X, S, Z, Y: element types of
// input, scale, zero point and output; HAS_ZERO: 1 or 0.
#include "backends/cuda/kernels/quantize/quantize_parameters.h"
#include "prelude.cuh"

__device__ void convert(X stored, float scale, float zero, Y* to) {
  const float x = (float)Element<X>::load(stored);
  if (!QUANTIZE) return storeReal<Y>(to, 0, (x - zero) * scale);
  const bool floating = ComputeOf<Y>(0.5f) != ComputeOf<Y>(0);
  storeReal<Y>(to, 0, (floating ? x / scale : rintf(x / scale)) + zero);
}

KERNEL(tenon_quantize, QuantizeParameters) {
  const i64 index = globalIndex();
  if (index >= p.count) return;
  i64 at = 0;
  i64 rest = index;
  for (int axis = p.single ? -1 : p.rank - 1; axis >= 0; --axis) {
    at += takeIndex(rest, p.extent[axis]) / p.block[axis] * p.stride[axis];
  }
  const float zero = HAS_ZERO ? (float)load<Z>(p.zero, at) : 0.f;
  convert(((const X*)p.x)[index], load<S>(p.scale, at), zero, (Y*)p.y + index);
}

// One scale for all, packs of at least 16 bytes on the wider side.
KERNEL(tenon_quantize_packed, QuantizeParameters) {
  constexpr int kPack = 16 / (sizeof(X) > sizeof(Y) ? sizeof(X) : sizeof(Y));
  const i64 first = globalIndex() * kPack;
  if (first >= p.count) return;
  const float zero = HAS_ZERO ? (float)load<Z>(p.zero, 0) : 0.f;
  const float scale = load<S>(p.scale, 0);
  if (first + kPack > p.count) {
    for (i64 i = first; i < p.count; ++i) convert(((const X*)p.x)[i], scale, zero, (Y*)p.y + i);
    return;
  }
  const Pack<X, kPack> values = *(const Pack<X, kPack>*)((const X*)p.x + first);
  Pack<Y, kPack> result;
#pragma unroll
  for (int j = 0; j < kPack; ++j) convert(values.e[j], scale, zero, &result.e[j]);
  *(Pack<Y, kPack>*)((Y*)p.y + first) = result;
}
