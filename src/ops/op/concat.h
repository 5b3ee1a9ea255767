// Tensors side by side along one axis.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x0, x1, ... of one type, equal but for the extent of the axis. Output: that extent is their sum.
struct Concat {
  static constexpr std::string_view kName = "concat";
  int64_t axis = 0;  // in [-rank, rank)
  static constexpr auto fields = std::tuple{field("axis", &Concat::axis)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
