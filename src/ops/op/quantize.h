// Floating values to a narrow type by scale and zero point.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x, scale, optionally zeroPoint (shape of scale). Output of `type`, shape of x:
// saturate(round_half_even(x / scale) + zeroPoint), divided in f32 as ONNX and TensorRT do, which decides between two
// numbers near the middle; floating types round as their conversion does.
// scale has one element (per tensor), the extent of `axis` (per axis), or the rank of x with extents that divide those
// of x (per block).
struct Quantize {
  static constexpr std::string_view kName = "quantize";
  int64_t axis = -1;              // in [-rank, rank); of a scale per axis
  DataType type = DataType::kI8;  // i8, u8, i4, f8e4m3 or f4e2m1
  static constexpr auto fields = std::tuple{field("axis", &Quantize::axis), field("type", &Quantize::type)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
