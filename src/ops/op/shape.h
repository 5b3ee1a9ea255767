// The extents of a tensor as a tensor.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x. Output: [rank] of i64, its contents are the extents.
struct ShapeOf {
  static constexpr std::string_view kName = "shape";
  static constexpr auto fields = std::tuple{};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
