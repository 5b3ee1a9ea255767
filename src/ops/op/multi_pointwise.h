// A scalar expression of which several instructions are results.
#pragma once

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// Inputs x0, x1, ... broadcast against each other, as those of Pointwise; every output has their common shape. Output i
// is the result of instruction results[i]. The network has no such layer: passes put nodes that share operands
// together.
struct MultiPointwise {
  static constexpr std::string_view kName = "multi_pointwise";
  ScalarExpr expr;
  std::vector<int64_t> results;  // distinct, each in [0, instructions)
  static constexpr auto fields =
      std::tuple{field("expr", &MultiPointwise::expr), field("results", &MultiPointwise::results)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
