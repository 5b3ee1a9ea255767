// Products of little depth, in which storing the results is most of the work, compiled for every SIMD width.
#pragma once

#include <cstdint>

namespace tenon::backends::cpu {

constexpr int64_t kShallowDepth = 4;  // at most

// out[r][j] = clamp(scale * (sum over k of a[r * aStep + k] * b[k][j]) + bias[j] + addend[r][j]). Columns of b come in
// panels of tileGeometry().columns: element (k, j) of panel p is b[p * panelStep + k * bStep + j].
struct ShallowProduct {
  const float* a = nullptr;
  int64_t aStep = 0;
  const float* b = nullptr;
  int64_t bStep = 0, panelStep = 0;
  bool isFilled = false;  // the last panel may be read to its end
  int64_t rows = 0, depth = 0, columns = 0;
  float scale = 1;
  const float* bias = nullptr;    // or null
  const float* addend = nullptr;  // or null
  int64_t addendStep = 0;
  float low = 0, high = 0;
  float* out = nullptr;
  int64_t outStep = 0;
};

// Sums are taken in the order of k, whatever the rows and columns are.
using ShallowFunction = void (*)(const ShallowProduct& product);
ShallowFunction shallowFunction();

}  // namespace tenon::backends::cpu
