// Elements of a concatenation that no tensor holds, selected by indices.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x0, indices (i32, a vector), x1, x2, ...; the tensors as those of Concat. Output: that of Gather of the
// concatenation of all of them by the indices, along the same axis. The network has no such layer: passes make it of
// two nodes.
struct ConcatGather {
  static constexpr std::string_view kName = "concat_gather";
  int64_t axis = 0;  // in [-rank, rank)
  static constexpr auto fields = std::tuple{field("axis", &ConcatGather::axis)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;

  static constexpr size_t kIndices = 1;  // the input that holds them
};

}  // namespace tenon::ops
