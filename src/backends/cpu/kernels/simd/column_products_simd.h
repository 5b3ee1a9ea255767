// Sums of products of f32 side by side, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

struct FloatOperand {
  const float* at = nullptr;
  int64_t step = 0;    // from one row to the next
  bool isRow = false;  // of as many elements as there are sums; else one element for all
};

// totals[i] += a[0][i] * b[0][i] + a[1][i] * b[1][i] + ... over `rows` rows, some of which are added in f32 first.
using AddProducts = void (*)(FloatOperand a, FloatOperand b, size_t rows, size_t count, double* totals);
AddProducts addProducts();

}  // namespace tenon::backends::cpu
