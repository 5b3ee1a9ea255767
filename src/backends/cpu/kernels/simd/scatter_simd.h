// Rows and elements combined with others where these stand, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "ops/op/reduce.h"

namespace tenon::backends::cpu {

constexpr size_t kAllScattered = ~size_t{0};

struct ScatterFunctions {
  // to[i] = to[i] op from[i]
  void (*row)(void* to, const void* from, size_t count) = nullptr;
  // to[i + indices[i] * step] likewise, for indices below `extent`, or from -extent on, which count from the end;
  // returns `count`, or the first i whose index is outside, behind which nothing is done.
  size_t (*elements)(void* to, const void* from, const void* indices, int64_t step, int64_t extent,
                     size_t count) = nullptr;
  // The same of rows of `count` behind each other in updates and indices, `fromStep` elements apart, one after another;
  // returns where from `from` an index is outside, or kAllScattered.
  size_t (*narrow)(void* to, const void* from, const void* indices, int64_t step, int64_t extent, size_t count,
                   size_t rows, int64_t fromStep) = nullptr;
  // to[indices[i]] likewise, for i below `count`: the elements of a line, and then of the next ones, which stand
  // `toStep` and `count` elements further on.
  size_t (*lines)(void* to, const void* from, const void* indices, int64_t toStep, int64_t extent, size_t count,
                  size_t lineCount) = nullptr;
  // Whether all of `count` indices, at least one, are alike.
  bool (*areAlike)(const void* indices, size_t count) = nullptr;
};

// Of f32 in f32, and of integers in their type. No functions for others. Indices are i32 or i64.
ScatterFunctions scatterFunctions(ops::ReduceOp op, DataType type, DataType indices);

}  // namespace tenon::backends::cpu
