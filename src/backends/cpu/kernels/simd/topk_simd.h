// The best elements of columns that lie side by side, and of short lines, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace tenon::backends::cpu {

constexpr size_t kTopColumns = 16;  // at once
constexpr size_t kMostTop = 64;     // best elements of a column

// The row of the j-th best element of column c becomes rows[j * kTopColumns + c], for `count` of at most kTopColumns
// columns with `extent` elements `step` apart, k of at most kMostTop and `extent`. NaN is above all numbers, both zeros
// are equal, and of equal elements the first is better.
using TopColumnsFunction = void (*)(const void* x, size_t step, size_t extent, size_t count, size_t k, bool largest,
                                    int32_t* rows);

// Of f32, i32, i8, u8 and bool; null for other types.
TopColumnsFunction topColumnsFunction(DataType type);

constexpr size_t kMostRanked = 128;

// The k smallest of `count` numbers, of which no two are equal, in order: each number's place is how many are smaller.
// For k of nearly `count`, and at most kMostRanked numbers, which have room for that many.
using RankFunction = void (*)(const uint64_t* numbers, size_t count, size_t k, uint64_t* sorted);
RankFunction rankFunction();

}  // namespace tenon::backends::cpu
