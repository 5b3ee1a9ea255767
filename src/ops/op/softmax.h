// Softmax over one axis.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x (floating). Output of the same shape: exp(x - m) / sum(exp(x - m)) along the axis, m the maximum there.
struct Softmax {
  static constexpr std::string_view kName = "softmax";
  int64_t axis = -1;  // in [-rank, rank)
  static constexpr auto fields = std::tuple{field("axis", &Softmax::axis)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
