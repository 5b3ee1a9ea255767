// Quantization (QUANTIZE 1) and its way back (0) with a scale per tensor, axis or block. X, S, Z, Y: element types of
// input, scale, zero point and output; HAS_ZERO: 1 or 0.
#include "prelude.cuh"

struct Parameters {
  const void* x;
  const void* scale;
  const void* zero;
  void* y;
  i64 count;
  int single;  // one scale for all
  int rank;
  i64 extent[8];
  i64 block[8];   // elements per scale
  i64 stride[8];  // of the scale
};

KERNEL(tenon_quantize, Parameters) {
  const i64 index = globalIndex();
  if (index >= p.count) return;
  i64 at = 0;
  i64 rest = index;
  for (int axis = p.single ? -1 : p.rank - 1; axis >= 0; --axis) {
    at += takeIndex(rest, p.extent[axis]) / p.block[axis] * p.stride[axis];
  }
  const float zero = HAS_ZERO ? (float)load<Z>(p.zero, at) : 0.f;
  const float scale = load<S>(p.scale, at);
  const float x = (float)load<X>(p.x, index);
  if (!QUANTIZE) return storeReal<Y>(p.y, index, (x - zero) * scale);
  const bool floating = ComputeOf<Y>(0.5f) != ComputeOf<Y>(0);
  storeReal<Y>(p.y, index, (floating ? x / scale : rintf(x / scale)) + zero);
}
