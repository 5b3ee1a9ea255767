// Rows whose pairs of columns are turned by angles, compiled for every SIMD width.
#pragma once

#include <cstdint>

namespace tenon::backends::cpu {

// Rows of x and y, `rows` of them; cosines and sines of each row, `angleStep` (0: the same ones) from row to row.
struct RotatedRows {
  const float* x = nullptr;
  int64_t xStep = 0;
  float* y = nullptr;
  int64_t yStep = 0;
  const float* cosines = nullptr;
  const float* sines = nullptr;
  int64_t angleStep = 0;
  int64_t rows = 0;
  int64_t pairs = 0;
  bool interleaved = false;
};
using RotateRows = void (*)(const RotatedRows&);

// The best one for this processor.
RotateRows rotateRowsFunction();

}  // namespace tenon::backends::cpu
