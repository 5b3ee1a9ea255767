// A scalar expression over a tensor whose halves have changed places, which no tensor holds.
#pragma once

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// Inputs and output as those of Pointwise, but of input 0, whose shape is the output's, the two halves of the axis, of
// a known and even extent, have changed places. The network has no such layer: passes make it of two nodes.
struct SwappedPointwise {
  static constexpr std::string_view kName = "swapped_pointwise";
  int64_t axis = 0;  // in [-rank, rank)
  ScalarExpr expr;
  static constexpr auto fields =
      std::tuple{field("axis", &SwappedPointwise::axis), field("expr", &SwappedPointwise::expr)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
