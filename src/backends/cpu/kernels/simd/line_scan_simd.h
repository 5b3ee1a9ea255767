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
// time is summed in f32, and of integers, which wrap, one of their own type. x and y lie apart.
using LineSumsFunction = void (*)(const void* x, void* y, size_t count, LineSums sums, void* sum);

// Of f32, i64 and i32; none for other types.
LineSumsFunction lineSumsFunction(DataType type);

}  // namespace tenon::backends::cpu
