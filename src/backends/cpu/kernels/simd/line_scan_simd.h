// Running sums of elements that lie behind each other, compiled for every SIMD width.
#pragma once

#include <cstddef>

#include "core/dtype.h"

namespace tenon::backends::cpu {

struct LineSums {
  bool reverse = false;    // from the last element to the first
  bool exclusive = false;  // each sum is without its own element
};

// y becomes the sums of x, from *sum on, which becomes the sum of all: a double of f32, a vector of whose elements at a
// time is summed in f32, an int64_t of i64, which wraps, and of i32. False where a sum of i32 has more than 32 bits;
// then neither y nor *sum is of any use. x and y lie apart.
using LineSumsFunction = bool (*)(const void* x, void* y, size_t count, LineSums sums, void* sum);

// Of f32, i64 and i32; none for other types.
LineSumsFunction lineSumsFunction(DataType type);

}  // namespace tenon::backends::cpu
