// The same elements in the same order under another shape.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x. Output: x with the given shape, whose number of elements must be that of x. No extent is implied: builders
// resolve 0 and -1 before.
struct Reshape {
  static constexpr std::string_view kName = "reshape";
  Shape shape;
  static constexpr auto fields = std::tuple{field("shape", &Reshape::shape)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
