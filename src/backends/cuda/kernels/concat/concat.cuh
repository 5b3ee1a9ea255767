// Concatenation in one launch: the rows of many tensors are copied into the rows of one.
#pragma once

#include "prelude.cuh"

constexpr int kMostParts = 64;  // as in run/concat_instance.h
constexpr int kMostRows = 4;    // of a thread: loads in flight
constexpr int kMostOperands = 8;

// Everything is counted in elements of one to sixteen bytes. The columns of all parts, one part behind another, are
// those that threads walk; begin[parts] is their number.
struct ConcatParameters {
  void* to;
  i64 rows, pitch;  // of the target
  const void* from[kMostParts];
  i64 place[kMostParts];      // of a part's first column in a row of the target
  i64 begin[kMostParts + 1];  // of a part's first column
  Divider tiles;              // blocks side by side along the columns
  int parts, half;            // half: a power of two, the largest below `parts`
  int lanes;                  // columns of a block
  int rowsAtOnce, rowsOfThread;
  // Of an expression over the elements: operands of one element, or of one for each index of the axis.
  Divider inner;  // columns that have one index
  int steps;      // a bit for each operand: it has more than one element
  int eachOwn;    // each element of the target, however many move as one, has its own index
  const void* operand[kMostOperands];
};

// `change(value, column)` makes the element at a column of the target of the one that is copied there.
template <typename T, typename Change>
__device__ void copyParts(const ConcatParameters& p, Change change) {
  const unsigned group = p.tiles.quotient(blockIdx.x);
  const int inBlock = threadIdx.x / p.lanes;
  const i64 column = (i64)(blockIdx.x - group * p.tiles.divisor) * p.lanes + (threadIdx.x - inBlock * p.lanes);
  if (inBlock >= p.rowsAtOnce || column >= p.begin[p.parts]) return;
  int part = 0;
  for (int step = p.half; step > 0; step /= 2) {
    if (part + step < p.parts && p.begin[part + step] <= column) part += step;
  }
  const i64 inPart = column - p.begin[part];
  const i64 length = p.begin[part + 1] - p.begin[part];
  const T* from = (const T*)p.from[part] + inPart;
  T* to = (T*)p.to + p.place[part] + inPart;
  const i64 first = (i64)group * p.rowsAtOnce * p.rowsOfThread + inBlock;
  T value[kMostRows];
#pragma unroll
  for (int k = 0; k < kMostRows; ++k) {
    const i64 row = first + k * p.rowsAtOnce;
    if (k < p.rowsOfThread && row < p.rows) value[k] = from[row * length];
  }
#pragma unroll
  for (int k = 0; k < kMostRows; ++k) {
    const i64 row = first + k * p.rowsAtOnce;
    if (k < p.rowsOfThread && row < p.rows) to[row * p.pitch] = change(value[k], p.place[part] + inPart);
  }
}
