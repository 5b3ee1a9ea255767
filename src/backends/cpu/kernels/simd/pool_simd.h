// Maximum and sum over a few rows of channels, compiled for every SIMD width.
#pragma once

#include <cstdint>

namespace tenon::backends::cpu {

struct PoolFunctions {
  // out[c] = the largest of sources[t][c]; at least one source.
  void (*maximum)(const float* const* sources, int64_t count, int64_t channels, float* out);
  // out[c] = scale * the sum of sources[t][c]
  void (*sum)(const float* const* sources, int64_t count, int64_t channels, float scale, float* out);
};
const PoolFunctions& poolFunctions();

}  // namespace tenon::backends::cpu
