// Rows times the matrix of the expert that each was given to.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x [T,S,D] floating, where S is 1 or K; experts [T,K] of integers; weights [E,D,N] of x's type.
// Output [T,K,N]: row [t,k] is x[t, k or 0] weights[experts[t,k]]. A number that is no expert gives zeros.
struct ExpertMatMul {
  static constexpr std::string_view kName = "expert_matmul";
  static constexpr auto fields = std::tuple{};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
