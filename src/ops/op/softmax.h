// Softmax over one axis.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x (floating). Output of the same shape: exp(x - m) / sum(exp(x - m)) along the axis, m the maximum there; or
// the logarithm of that, x - m - log(sum(exp(x - m))).
struct Softmax {
  static constexpr std::string_view kName = "softmax";
  int64_t axis = -1;  // in [-rank, rank)
  bool logarithm = false;
  static constexpr auto fields = std::tuple{field("axis", &Softmax::axis), field("logarithm", &Softmax::logarithm)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
