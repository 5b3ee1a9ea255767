// Local response normalization across channels.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x [N,C,...] (floating). Output, shape of x: x / (k + alpha / window * s)^beta where s is the sum of x^2 over
// the channels [c - (window - 1) / 2, c + window / 2] that exist (integer divisions).
struct Lrn {
  static constexpr std::string_view kName = "lrn";
  int64_t window = 5;
  double alpha = 0.0001;
  double beta = 0.75;
  double k = 1;
  static constexpr auto fields = std::tuple{field("window", &Lrn::window), field("alpha", &Lrn::alpha),
                                            field("beta", &Lrn::beta), field("k", &Lrn::k)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
