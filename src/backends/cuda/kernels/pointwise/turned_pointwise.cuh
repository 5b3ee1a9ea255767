// An expression of one operand that lies channels-last where the result is row-major, or the other way round: of each
// image a matrix that is turned in tiles through shared memory. The including text defines X, Y and compute().
#pragma once

constexpr int kTurnedPitch = kTurnedTile + (sizeof(Y) < 4 ? 4 / (int)sizeof(Y) : 1);  // rows begin in different banks

KERNEL(tenon_turned_pointwise, TurnedParameters) {
  constexpr int kRowsAtOnce = 16;  // of 256 threads, each with a pack
  constexpr int kPacks = kTurnedTile / kRowsAtOnce;
  __shared__ Y tile[kTurnedTile * kTurnedPitch];
  const unsigned rest = blockIdx.x / p.tilesA;
  const unsigned image = rest / p.tilesB;
  const i64 a0 = (i64)(blockIdx.x - rest * p.tilesA.divisor) * kTurnedTile;
  const i64 b0 = (i64)(rest - image * p.tilesB.divisor) * kTurnedTile;
  const X* const x = (const X*)p.x + image * p.a * p.b;
  Y* const y = (Y*)p.y + image * p.a * p.b;
  const int row = threadIdx.x / kRowsAtOnce;
  const int column = threadIdx.x % kRowsAtOnce * kTurnedPack;
  Pack<X, kTurnedPack> packs[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const i64 a = a0 + row + k * kRowsAtOnce;
    const X* const from = x + a * p.b + b0 + column;
    if (a >= p.a) continue;
    if (p.xInPacks != 0) {
      if (b0 + column < p.b) packs[k] = *(const Pack<X, kTurnedPack>*)from;
      continue;
    }
#pragma unroll
    for (int j = 0; j < kTurnedPack; ++j) {
      if (b0 + column + j < p.b) packs[k].e[j] = from[j];
    }
  }
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int a = row + k * kRowsAtOnce;
#pragma unroll
    for (int j = 0; j < kTurnedPack; ++j) {
      if (a0 + a < p.a && b0 + column + j < p.b)
        compute(Scalar<X>::load(packs[k].e[j]), tile[(column + j) * kTurnedPitch + a]);
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int b = row + k * kRowsAtOnce;
    if (b0 + b >= p.b) continue;
    Y* const to = y + (b0 + b) * p.a + a0 + column;
    const Y* const from = tile + b * kTurnedPitch + column;
    if (p.yInPacks != 0) {
      if (a0 + column >= p.a) continue;
      Pack<Y, kTurnedPack> pack;
#pragma unroll
      for (int j = 0; j < kTurnedPack; ++j) pack.e[j] = from[j];
      *(Pack<Y, kTurnedPack>*)to = pack;
      continue;
    }
#pragma unroll
    for (int j = 0; j < kTurnedPack; ++j) {
      if (a0 + column + j < p.a) to[j] = from[j];
    }
  }
}
