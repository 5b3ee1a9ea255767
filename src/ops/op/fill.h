// A tensor of one value, or of values linear in the index.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: none, or start (one element) and deltas (one element per axis, or none), both of `type`; they take the place
// of the fields. Output: out[i..] = start + sum over axes of deltas[axis] * i_axis; integer types compute in 64-bit
// integers.
struct Fill {
  static constexpr std::string_view kName = "fill";
  Shape shape;
  DataType type = DataType::kF32;
  double start = 0;
  std::vector<double> deltas;  // per axis; empty: 0
  static constexpr auto fields = std::tuple{field("shape", &Fill::shape), field("type", &Fill::type),
                                            field("start", &Fill::start), field("deltas", &Fill::deltas)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
