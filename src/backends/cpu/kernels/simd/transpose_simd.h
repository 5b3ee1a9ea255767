// Transposes of matrices of elements of any size, and rows picked out of longer ones, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

// Steps in elements.
struct TransposeFunctions {
  // to[j * toStep + i] = from[i * fromStep + j] for i < inner, j < second
  void (*transpose)(const void* from, size_t fromStep, void* to, size_t toStep, size_t inner, size_t second) = nullptr;
  // to[i] = from[i * step] for i < count; the step may be negative or 0
  void (*pick)(const void* from, int64_t step, void* to, size_t count) = nullptr;
};

// The best ones for this processor, of elements of 1, 2, 4 or 8 bytes.
TransposeFunctions transposeFunctions(size_t elementBytes);

}  // namespace tenon::backends::cpu
