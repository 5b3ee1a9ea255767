// What random numbers are made from.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

// Key and place of a draw (ops/op/random.h).
struct RandomDraw {
  uint64_t key;
  uint64_t place;
};

struct RandomParameters {
  float* y = nullptr;
  const RandomDraw* draw = nullptr;
  int64_t count = 0;
  uint32_t factors[2] = {}, steps[2] = {};  // of the generator
  int32_t rounds = 0;
};

}  // namespace tenon::backends::cuda
