// Normalization of rows whose statistics are there.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x [...,K], its row_moments, f32 [...,P,2]; scale and bias [K] of the type of x. Output, shape of x: (x -
// mean) / sqrt(variance + epsilon) * scale + bias with mean and (biased) variance of each row as its moments give them.
// Not centered: the mean counts as 0.
struct NormalizeRows {
  static constexpr std::string_view kName = "normalize_rows";
  double epsilon = 1e-5;
  bool centered = true;
  int64_t run = 64;
  static constexpr auto fields =
      std::tuple{field("epsilon", &NormalizeRows::epsilon), field("centered", &NormalizeRows::centered),
                 field("run", &NormalizeRows::run)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
