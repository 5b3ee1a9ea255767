// Quantization with scales that are computed from the data, as layers that have it lower it.
#pragma once

#include <optional>

#include "api/network/formula.h"

namespace tenon::api {

struct DynamicQuantization {
  std::vector<int64_t> block;  // elements per block along each axis; -1: the whole axis
  DataType type = DataType::kF8E4M3;
  DataType scaleType = DataType::kF8E4M3;
};

struct DynamicallyQuantized {
  Formula data;     // of `type`, in the shape of x
  Formula scales;   // of `scaleType`, one per block
  Formula divisor;  // f32, what the data was divided by, one per block
};

// A block's scale is its largest magnitude over the largest number of `type`. Scales of 8-bit floats are quantized
// themselves, with `scaleOfScales`, one element, which they need and others must not have; powers of two are rounded
// up. UserError where blocks do not divide the data; Unsupported for types that there is no rule for.
DynamicallyQuantized quantizeDynamically(const Formula& x, const DynamicQuantization& how,
                                         const std::optional<Formula>& scaleOfScales);

}  // namespace tenon::api
