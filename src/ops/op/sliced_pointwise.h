// A scalar expression over slices of tensors, which no tensor holds.
#pragma once

#include <vector>

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// Inputs and output as those of Pointwise, but of input i with starts[i] >= 0 only the elements starts[i], .. of the
// axis are read, `size` of them; these slices have the output's shape. The other inputs are read as they are. With
// `results` there are several outputs, as those of MultiPointwise. The network has no such layer: passes make it of
// several nodes.
struct SlicedPointwise {
  static constexpr std::string_view kName = "sliced_pointwise";
  int64_t axis = 0;             // in [-rank, rank) of the sliced inputs
  Extent size = 1;              // the output's extent of the axis
  std::vector<int64_t> starts;  // by input; -1: not sliced
  ScalarExpr expr;
  std::vector<int64_t> results;  // instructions that are outputs; none: the last one is
  static constexpr auto fields =
      std::tuple{field("axis", &SlicedPointwise::axis), field("size", &SlicedPointwise::size),
                 field("starts", &SlicedPointwise::starts), field("expr", &SlicedPointwise::expr),
                 field("results", &SlicedPointwise::results)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
