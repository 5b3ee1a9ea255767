// What concatenations are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

constexpr int kMostParts = 64;
constexpr int kMostRows = 4;  // of a thread: loads in flight
constexpr int kMostConcatOperands = 8;

// Everything is counted in elements of one to sixteen bytes. The columns of all parts, one part behind another, are
// those that threads walk; begin[parts] is their number.
struct ConcatParameters {
  void* to = nullptr;
  int64_t rows = 0, pitch = 0;  // of the target
  const void* from[kMostParts] = {};
  int64_t place[kMostParts] = {};            // of a part's first column in a row of the target
  int64_t begin[kMostParts + 1] = {};        // of a part's first column
  Divider tiles;                             // blocks side by side along the columns
  int32_t parts = 0, half = 0;               // half: a power of two, the largest below `parts`
  int32_t lanes = 1;                         // columns of a block
  int32_t rowsAtOnce = 1, rowsOfThread = 1;  // of a block, of its threads
  // Of an expression over the elements: operands of one element, or of one for each index of the axis.
  Divider inner;        // columns that have one index
  int32_t steps = 0;    // a bit for each operand: it has more than one element
  int32_t eachOwn = 0;  // each element of the target, however many move as one, has its own index
  const void* operand[kMostConcatOperands] = {};
};

}  // namespace tenon::backends::cuda
