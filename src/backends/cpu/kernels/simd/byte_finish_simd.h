// Results of quantized convolutions from their sums, compiled for every SIMD width.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace tenon::backends::cpu {

// Of `width` columns: what is added to their sums, their scales, and what is added then.
struct ByteColumns {
  const int32_t* added = nullptr;
  const float* scales = nullptr;  // of results that are no i32
  const float* biases = nullptr;  // likewise
  int32_t zero = 0;               // of results of 8 bits
  int32_t low = 0;                // their least
};

// Rows of sums and of as many results; steps in elements.
struct ByteRows {
  const int32_t* sums = nullptr;
  int64_t sumStep = 0;
  void* out = nullptr;
  int64_t outStep = 0;
  int64_t count = 0;
  int64_t width = 0;
};

struct ByteFinish {
  using Function = void (*)(const ByteRows& rows, const ByteColumns& columns);
  Function i32 = nullptr;
  Function f32 = nullptr;
  Function i8 = nullptr;
  Function u8 = nullptr;
  // The sum of `count` bytes.
  int32_t (*sum)(const uint8_t* bytes, int64_t count) = nullptr;
  // sums[c] -= factors[c] * by, of `width` columns; in 32 bits, which wrap.
  void (*takeAway)(int32_t* sums, const int32_t* factors, int32_t by, int64_t width) = nullptr;
  // The same of rows, `step` elements apart, each with its own by[r].
  void (*takeAwayRows)(int32_t* sums, int64_t step, int64_t rows, const int32_t* factors, const int32_t* by,
                       int64_t width) = nullptr;
};

const ByteFinish& byteFinish();

}  // namespace tenon::backends::cpu
