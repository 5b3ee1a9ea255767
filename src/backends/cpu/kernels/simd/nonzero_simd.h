// Which elements are not zero, as bits, and which boxes overlap one; compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace tenon::backends::cpu {

// Bit i of words[w] says whether element 64 * w + i differs from 0.
using NonZeroMasks = void (*)(const void* x, size_t words, uint64_t* masks);
// Of types of 1, 2, 4 or 8 bytes; null for others.
NonZeroMasks nonZeroMasks(DataType type);

// Boxes with an area above 0, coordinate by coordinate.
struct BoxColumns {
  double* x1;
  double* y1;
  double* x2;
  double* y2;
  double* area;
};
// Whether one of the first `count` has more than `threshold` of the union with a box in common (ops/box.h).
using OverlapsAny = bool (*)(const BoxColumns& boxes, size_t count, double x1, double y1, double x2, double y2,
                             double area, double threshold);
OverlapsAny overlapsAny();

}  // namespace tenon::backends::cpu
