// Sums, products and extremes of rows and columns of any type, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "ops/op/reduce.h"

namespace tenon::backends::cpu {

// Accumulators are double for sums and products of f32, i64 for those of integers, else of the type itself. A result
// does not depend on the instruction set, but for sums of rows of f32: these add up to 4096 elements in f32 first, sums
// of columns up to 32.
struct ReduceFunctions {
  size_t accumulatorBytes = 0;  // at most 8
  void (*start)(void* accumulators, size_t count) = nullptr;
  // accumulators[k] joins x[k], x[step + k], ... of `rows` rows
  void (*columns)(const void* x, size_t step, size_t rows, void* accumulators, size_t count) = nullptr;
  // accumulators[0] joins all of x
  void (*row)(const void* x, size_t count, void* accumulators) = nullptr;
  // accumulators[r] joins x[r * step], ... x[r * step + count - 1]
  void (*rows)(const void* x, size_t step, size_t rowCount, size_t count, void* accumulators) = nullptr;
  // accumulators[k] joins more[k]
  void (*join)(const void* more, void* accumulators, size_t count) = nullptr;
  // Values of the type from accumulators of `reduced` elements each.
  void (*finish)(const void* accumulators, size_t count, int64_t reduced, void* out) = nullptr;
  // The least and the greatest of all of x join an accumulator each; f32 alone.
  void (*extremes)(const void* x, size_t count, void* least, void* most) = nullptr;
  // out[k] becomes the result of x[k], x[step + k], ... of 1 to kFewReducedRows rows, as start(), columns() and
  // finish() make it; extremes, and sums and means of f32.
  void (*fewRows)(const void* x, size_t step, size_t rows, size_t count, bool isMean, void* out) = nullptr;
};
constexpr int64_t kFewReducedRows = 32;

// Of f32, i64, i32, i8 and u8; no functions for other types.
ReduceFunctions reduceFunctions(ops::ReduceOp op, DataType type);
ReduceFunctions integerReduceFunctions(ops::ReduceOp op, DataType type);  // the part of it that is of integers

}  // namespace tenon::backends::cpu
