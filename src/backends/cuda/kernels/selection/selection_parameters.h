// What kernels that look for elements are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

constexpr int kNonZeroThreads = 256;
constexpr int kNonZeroPerThread = 8;  // elements at a time
constexpr int kNonZeroTile = kNonZeroThreads * kNonZeroPerThread;

struct NonZeroParameters {
  const void* x = nullptr;
  void* y = nullptr;          // coordinates [rank, columns], or one number
  int64_t* counts = nullptr;  // by block: elements that are not zero
  int64_t count = 0;          // elements of x
  int64_t perBlock = 0;       // whole tiles
  int64_t blocks = 0;         // that have elements
  int64_t columns = 0;
  int32_t rank = 0;
  int64_t extent[kMaxAxes] = {};
};

}  // namespace tenon::backends::cuda
