// Rows of sums times a gate of themselves (swish, hard swish), compiled for every SIMD width.
#pragma once

#include <cstdint>

namespace tenon::backends::cpu {

// out[r][j] = clamp(x * gate(x) + addend[r][j]) of x = from[r][j], where gate is the sigmoid, or
// min(1, max(0, slope * x + offset)). No column beyond `width` is read or written.
struct GateCall {
  const float* from = nullptr;
  int64_t fromStride = 0;
  int64_t rows = 0, width = 0;
  bool isHard = false;
  float slope = 0, offset = 0;    // of the hard gate
  const float* addend = nullptr;  // or null
  int64_t addendStride = 0;
  float low = 0, high = 0;
  float* out = nullptr;
  int64_t outStride = 0;
};

using GateFunction = void (*)(const GateCall& call);
GateFunction gateFunction();

}  // namespace tenon::backends::cpu
