// Copies of rows, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

// As memcpy. The C library's takes half as long again for rows of 2 to 4 KiB that begin at odd addresses, and a
// few nanoseconds more for short ones.
using CopyRowFunction = void (*)(const void* from, void* to, size_t bytes);
CopyRowFunction copyRowFunction();

// `rows` rows behind each other, each of `count` times one element; that of the next row is `step` elements on.
using RepeatFunction = void (*)(const void* from, int64_t step, size_t rows, size_t count, void* to);
RepeatFunction repeatFunction(int64_t bytes);  // of an element: 1, 2, 4 or 8

}  // namespace tenon::backends::cpu
