// A scalar expression over a concatenation that no tensor holds.
#pragma once

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// Inputs: `parts` tensors as those of Concat, then others that broadcast to their concatenation. Output: the expression
// of shape and type as Pointwise's, where x0 is the concatenation and x1, x2, ... are the others. The network has no
// such layer: passes make it of two nodes.
struct ConcatPointwise {
  static constexpr std::string_view kName = "concat_pointwise";
  int64_t axis = 0;   // in [-rank, rank)
  int64_t parts = 1;  // one or more
  ScalarExpr expr;
  static constexpr auto fields =
      std::tuple{field("axis", &ConcatPointwise::axis), field("parts", &ConcatPointwise::parts),
                 field("expr", &ConcatPointwise::expr)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
