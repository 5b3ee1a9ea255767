// A debug tensor of those that a network marks all at once.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// As Tap, of tensors that are left when all nodes have been fused; contexts switch the whole group on and off.
struct UnfusedTap {
  static constexpr std::string_view kName = "unfused_tap";
  static constexpr auto fields = std::tuple{};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
