// What normalizations and softmax are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

struct NormalizationParameters {
  const void* x = nullptr;
  const void* scale = nullptr;
  const void* bias = nullptr;
  void* y = nullptr;
  float epsilon = 0;
  int64_t members = 0;         // of one statistic
  Space<3> groups;             // one element per statistic: x, scale, bias
  Space<3> inside;             // its members
  const void* skip = nullptr;  // of x's strides, as is
  void* sum = nullptr;
  void* moments = nullptr;  // of parts: [groups][parts] pairs of floats, mean and squares of distances from it
  int64_t parts = 1;        // of a statistic's members
  int64_t partMembers = 0;  // of each part but the last
};
constexpr int kNormalizationThreads = 256;

struct SoftmaxParameters {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t extent = 0;      // of the axis
  int64_t stride = 0;      // along it
  Space<1> lines;          // all other axes; x and y have the same strides
  void* states = nullptr;  // of chunks: [lines][chunks] pairs of floats
  int64_t chunks = 1;      // of a line
};
constexpr int kSoftmaxThreads = 256;
constexpr int kSoftmaxItems = 16;  // of a thread that has a part of a chunk

// Local response normalization.
struct LrnParameters {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t count = 0;
  int64_t channels = 1, channelStride = 1;
  int64_t below = 0, above = 0;  // channels of the window beside the own one
  float factor = 0;              // alpha / window
  float beta = 0, k = 0;
};

}  // namespace tenon::backends::cuda
