// Indices that count from the end where they are negative.
#pragma once

#include "prelude.cuh"

// Makes the index one from the front; false where it is outside its axis.
__device__ bool inside(i64& index, i64 extent) {
  if (index < 0) index += extent;
  return index >= 0 && index < extent;
}
