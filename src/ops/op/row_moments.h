// Sums and spreads of runs of a row, from which mean and variance of the whole follow.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x [...,K], floating. Output: f32 [...,P,2], for each run of `run` elements (the last one may have fewer, P is
// K / run rounded up) their sum, and the sum of the squares of their differences from the run's mean.
struct RowMoments {
  static constexpr std::string_view kName = "row_moments";
  int64_t run = 64;
  static constexpr auto fields = std::tuple{field("run", &RowMoments::run)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
