// The grid of pillars in numbers that keys have room for.
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/op/pillars.h"

namespace tenon::backends::cuda {

// Cells along x (axis 0) or y, and one more: a quotient may be rounded up.
inline double cellsAlong(const ops::Pillars& op, size_t axis) {
  return std::max(0.0, std::ceil((op.range[axis + 3] - op.range[axis]) / op.size[axis])) + 1;
}
constexpr double kMostCells = 4294967295.0;  // a cell's number is half of a key

}  // namespace tenon::backends::cuda
