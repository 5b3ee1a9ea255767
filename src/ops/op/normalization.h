// Layer, instance, group and root-mean-square normalization, of a tensor or of a sum of two.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x, scale, bias (floating, one type). Output, shape of x: (x - mean) / sqrt(variance + epsilon) * scale + bias
// with mean and (biased) variance over the axes. With groups > 1 axis 1 is cut into so many runs, and statistics are
// over the axes and one run. scale and bias broadcast to x, aligned at the right; when their rank is that of x, axis 1
// may also have one element per group. Not centered: the mean counts as 0, so that x is divided by its root mean
// square. skip: a fourth input of the type and shape of x; x + skip, rounded to their type, stands for x in all of
// this. keepSum (with skip only): that sum is the second output.
struct Normalization {
  static constexpr std::string_view kName = "normalization";
  std::vector<int64_t> axes;  // distinct, each in [-rank, rank)
  double epsilon = 1e-5;
  int64_t groups = 1;
  bool centered = true;
  bool skip = false;
  bool keepSum = false;
  static constexpr auto fields =
      std::tuple{field("axes", &Normalization::axes),     field("epsilon", &Normalization::epsilon),
                 field("groups", &Normalization::groups), field("centered", &Normalization::centered),
                 field("skip", &Normalization::skip),     field("keepSum", &Normalization::keepSum)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
