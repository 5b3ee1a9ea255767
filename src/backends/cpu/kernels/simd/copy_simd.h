// Copies of rows, compiled for every SIMD width.
#pragma once

#include <cstddef>

namespace tenon::backends::cpu {

// As memcpy. The C library's takes half as long again for rows of 2 to 4 KiB that begin at odd addresses, and a
// few nanoseconds more for short ones.
using CopyRowFunction = void (*)(const void* from, void* to, size_t bytes);
CopyRowFunction copyRowFunction();

}  // namespace tenon::backends::cpu
