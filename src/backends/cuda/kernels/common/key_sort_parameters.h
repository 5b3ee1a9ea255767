// What the kernels that sort keys are given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

constexpr int kSortTile = 4096;  // keys that a block sorts in shared memory
constexpr int kMostSortSteps = 3;

struct KeySortParameters {
  uint64_t* keys = nullptr;          // by item: `capacity` of them
  const uint32_t* counts = nullptr;  // by item: how many are there; null: `count`
  int64_t count = 0;
  int64_t capacity = 0;  // a power of two, at least a tile
  int64_t tile = 0;      // a power of two, at least 64
  int64_t blocks = 0;    // per item
  int64_t size = 0;      // of the runs that are merged
  int64_t distance = 0;  // of the keys that are compared; then its half, and so on
  int32_t steps = 0;     // distances of one launch
};

}  // namespace tenon::backends::cuda
