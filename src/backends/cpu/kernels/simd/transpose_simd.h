// Transposes of matrices of words, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

// to[j * toStep + i] = from[i * fromStep + j] for i < inner, j < second; steps in elements.
using TransposeWords = void (*)(const uint32_t* from, size_t fromStep, uint32_t* to, size_t toStep, size_t inner,
                                size_t second);

// The best one for this processor.
TransposeWords transposeWords();

}  // namespace tenon::backends::cpu
