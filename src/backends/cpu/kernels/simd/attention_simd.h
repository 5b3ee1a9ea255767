// Matmuls and softmax of attention over f32, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

constexpr int64_t kScoreLanes = 16;  // score rows are padded to a multiple of this, the widest vector

struct AttentionFunctions {
  // c[rows, columns] = a[rows, depth] b[depth, columns], all row-major with the given distance between rows.
  void (*product)(const float* a, int64_t aStep, const float* b, int64_t bStep, float* c, int64_t cStep, int64_t rows,
                  int64_t columns, int64_t depth);
  // row = exp(factor * (row - max(row))); returns the sum. `count` is a multiple of kScoreLanes.
  float (*softmax)(float* row, int64_t count, float factor);
  void (*scale)(float* row, int64_t count, float factor);
  // The first `count` of `columns` scores: row = factor * row + mask; the others are left out of the softmax.
  void (*masked)(float* row, const float* mask, int64_t count, int64_t columns, float factor);
  void (*leaveOut)(float* row, int64_t count, int64_t columns);
  // row = cap * tanh(factor * row), to 2e-7 of cap. `count` as above.
  void (*capped)(float* row, int64_t count, float factor, float cap);
};

// The best ones for this processor.
const AttentionFunctions& attentionFunctions();

}  // namespace tenon::backends::cpu
