// What distance.cu and its launch share.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

constexpr int64_t kMostDistanceBlocks = 1024;
constexpr int64_t kLeastDistanceRun = 4096;  // elements of a block
constexpr int kDistanceThreads = 256;

// As TensorDistance, of the elements of a block.
struct DistancePart {
  double squares;
  double difference;
  double gain;
  double excess;
  double worst;
  int64_t at;
  int64_t differing;
};

struct DistanceParameters {
  const void* got;
  const void* expected;
  DistancePart* parts;  // of each block
  int64_t count;
  int64_t run;  // elements of a block, one behind the other
  double factor;
  double largest;
  int64_t infinities;  // whether expected ones count
};

}  // namespace tenon::backends::cuda
