// Rows times matrices that lie as they come, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

// out[j] = sum over k < depth of a[k] * b[k * step + j] for j < count. The sum of a result is taken in an order that
// depends on depth, count and j alone.
// More than kShortRow columns are taken a few rows of the matrix at a time.
constexpr int64_t kShortRow = 256;
using RowTimesMatrix = void (*)(const float* a, const float* b, int64_t step, int64_t depth, float* out, int64_t count);

// The best one for this processor.
RowTimesMatrix rowTimesMatrix();

// out[r] = sum over k of a[r * step + k] * b[k] for each of `rows` rows; what one is does not depend on the others.
using RowsTimesColumn = void (*)(const float* a, int64_t step, const float* b, int64_t depth, float* out, int64_t rows);
RowsTimesColumn rowsTimesColumn();

// out[r * outStep + j] = sum over k of a[r * aStep + k] * b[j * bStep + k] for each of `rows` rows and `columns`
// columns; what one is does not depend on the others.
using RowsTimesRows = void (*)(const float* a, int64_t aStep, int64_t rows, const float* b, int64_t bStep,
                               int64_t columns, int64_t depth, float* out, int64_t outStep);
RowsTimesRows rowsTimesRows();

}  // namespace tenon::backends::cpu
