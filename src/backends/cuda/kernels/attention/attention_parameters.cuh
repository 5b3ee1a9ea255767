// What the kernels of attention by tensor cores are given (run/kernels/flash_attention.cpp). The including text
// defines X.
#pragma once

#include "prelude.cuh"

struct Parameters {
  const X* q;
  const X* k;
  const X* v;
  const X* mask;  // null: none
  X* y;
  float* partial;     // with blocks that share keys: [share][block][kPartialFloats]
  unsigned* arrived;  // of each block of rows: shares that are there; 0 between launches
  Divider tiles;      // blocks of a head
  Divider heads;
  int queries;
  int keys;
  int keysOfBlock;  // a multiple of KEYS
  int rowsOfBlock;  // of groups: a multiple of theirs
  int width;        // a multiple of 8
  int maskInPairs;  // neighbouring keys of the mask can be read at once
  int emptyIsZero;  // a row without a sum is 0
  float scale;      // of scores in base 2
  i64 qStride[3];   // batch, head, row: multiples of 16 bytes
  i64 kStride[3];
  i64 vStride[3];
  i64 yStride[3];
  i64 maskStride[4];  // batch, head, query, key; 0 where it broadcasts
  Divider sharing;    // heads that have the same keys
  Divider masks;      // how many batches the mask has: one, or a divisor of theirs

  // The keys and values of a head.
  __device__ __forceinline__ const X* keysOf(i64 batch, i64 head) const {
    return k + batch * kStride[0] + (i64)sharing.quotient((unsigned)head) * kStride[1];
  }
  __device__ __forceinline__ const X* valuesOf(i64 batch, i64 head) const {
    return v + batch * vStride[0] + (i64)sharing.quotient((unsigned)head) * vStride[1];
  }
  // The mask of a head.
  __device__ __forceinline__ const X* maskOf(i64 batch, i64 head) const {
    const i64 turn = batch - (i64)masks.quotient((unsigned)batch) * masks.divisor;
    return mask + turn * maskStride[0] + head * maskStride[1];
  }
};
