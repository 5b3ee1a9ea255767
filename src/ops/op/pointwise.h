// A scalar expression applied to every index of its inputs, which broadcast.
#pragma once

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// Inputs x0, x1, ... broadcast against each other (aligned at the right, extent 1 stretches). One output.
struct Pointwise {
  static constexpr std::string_view kName = "pointwise";
  ScalarExpr expr;
  static constexpr auto fields = std::tuple{field("expr", &Pointwise::expr)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
