// A condition on shapes.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: conditions, bool or integers, where all must be other than 0. Output: bool of their shape, all true. The
// evaluation says nothing about conditions that do not hold; who binds shapes for an execution calls check()
// (ShapeBinder::bind). So the shapes of a profile may be tried without.
struct Require {
  static constexpr std::string_view kName = "require";
  std::string message;
  static constexpr auto fields = std::tuple{field("message", &Require::message)};

  void check(const TensorView& conditions) const;  // UserError with the message

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
