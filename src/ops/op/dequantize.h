// Narrow values back to floating ones by scale and zero point.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x (i8, u8, i32, i4, f8e4m3 or f4e2m1), scale, optionally zeroPoint (shape of scale). Output of `type`, shape
// of x: (x - zeroPoint) * scale. The scale is per tensor, axis or block as of Quantize.
struct Dequantize {
  static constexpr std::string_view kName = "dequantize";
  int64_t axis = -1;               // in [-rank, rank); of a scale per axis
  DataType type = DataType::kF32;  // floating
  static constexpr auto fields = std::tuple{field("axis", &Dequantize::axis), field("type", &Dequantize::type)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
