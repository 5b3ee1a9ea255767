// Softmax of rows and of columns of f32, compiled for every SIMD width.
#pragma once

#include <cstddef>

namespace tenon::backends::cpu {

struct SoftmaxFunctions {
  // Each of `rows` contiguous rows of `count` elements; y may be x.
  void (*rows)(const float* x, float* y, size_t rows, size_t count);
  // Each of `count` columns of `rows` elements, `step` apart. y is not x. At least kSoftmaxColumns columns.
  void (*columns)(const float* x, float* y, size_t rows, size_t step, size_t count);
  // The same with logarithms of the results.
  void (*logRows)(const float* x, float* y, size_t rows, size_t count);
  void (*logColumns)(const float* x, float* y, size_t rows, size_t step, size_t count);
};

constexpr size_t kSoftmaxColumns = 16;  // the widest vector

// The best ones for this processor.
const SoftmaxFunctions& softmaxFunctions();

}  // namespace tenon::backends::cpu
