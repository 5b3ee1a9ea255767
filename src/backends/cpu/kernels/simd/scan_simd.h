// Running sums of rows and the best of columns, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace tenon::backends::cpu {

constexpr size_t kScanColumns = 2048;  // at most, at once, of more rows than kScanRows
constexpr size_t kScanRows = 16;       // floats of so many are summed in f32 without what rounding lost

struct ColumnSums {
  bool exclusive = false;
  bool narrow = false;  // few columns in all, of which these may be some
};

struct ScanFunctions {
  // y of `rows` rows of `count` columns becomes the sums of the rows of x up to it, without it where exclusive; the
  // next row is `step` elements on, which may be negative. f32 is summed with what rounding lost beside it, or in
  // blocks of kScanRows; integers wrap in their type.
  void (*sums)(const void* x, void* y, size_t rows, size_t count, int64_t step, ColumnSums how) = nullptr;
  // One more row of f32: `to` becomes `before` and x, less what `lost` says that earlier sums lost, which is kept in
  // it.
  void (*addRow)(const float* x, const float* before, float* to, float* lost, size_t count) = nullptr;
  // indices[k] of the first best element of column k, the next row `step` elements on. NaN is above all numbers.
  void (*best)(const void* x, size_t rows, size_t count, size_t step, bool largest, int64_t* indices) = nullptr;
  // The first of the elements [first, count) that is better than `limit`; `count` if none is.
  size_t (*better)(const void* x, size_t first, size_t count, bool largest, const void* limit) = nullptr;
};

// Of f32, i64, i32, i8 and u8; no functions for other types.
ScanFunctions scanFunctions(DataType type);

}  // namespace tenon::backends::cpu
