// A debug tensor: the caller sees its values during execution.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x. Output: x itself, in the same memory. It stays although nobody reads it, so that x is computed, stored, and
// row-major there, whatever x is: an input, a constant, a view, a value between two nodes that would else be one.
struct Tap {
  static constexpr std::string_view kName = "tap";
  static constexpr auto fields = std::tuple{};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
