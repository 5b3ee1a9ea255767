// Elements picked by indices, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace tenon::backends::cpu {

struct PickFunctions {
  // to[i] = from[index(i)], or to[i] = from[i + index(i) * step]; negative indices count from the end. Whether one of
  // them was outside of `extent`, which must not be 0; for such the first element is read.
  bool (*line)(const void* from, const void* indices, void* to, size_t count, int64_t extent) = nullptr;
  bool (*rows)(const void* from, const void* indices, void* to, size_t count, int64_t step, int64_t extent) = nullptr;
  // The same of short rows whose indices and results lie behind each other: line() of data `extent` elements further on
  // for each, or rows() of the same data.
  bool (*shortLines)(const void* from, const void* indices, void* to, size_t count, size_t rowCount,
                     int64_t extent) = nullptr;
  bool (*shortRows)(const void* from, const void* indices, void* to, size_t count, size_t rowCount, int64_t step,
                    int64_t extent) = nullptr;
};

// Of elements of 1, 2, 4 or 8 bytes; indices are i32 or i64.
PickFunctions pickFunctions(int64_t bytes, DataType indices);

}  // namespace tenon::backends::cpu
