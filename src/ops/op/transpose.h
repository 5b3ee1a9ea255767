// A permutation of axes.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x. Output axis i is input axis permutation[i].
struct Transpose {
  static constexpr std::string_view kName = "transpose";
  std::vector<int64_t> permutation;  // of 0 .. rank - 1
  static constexpr auto fields = std::tuple{field("permutation", &Transpose::permutation)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
