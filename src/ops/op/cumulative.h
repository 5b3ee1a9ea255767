// Running sums along an axis.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x (not bool). Output of the same shape: at each place of the axis the sum of the elements up to it, with it
// (exclusive: without it, so that the first is 0); reverse: the elements from it to the end. Floating types are summed
// in double; integers wrap in 64 bits, then saturate into the type, as in Reduce.
struct Cumulative {
  static constexpr std::string_view kName = "cumulative";
  int64_t axis = -1;  // in [-rank, rank)
  bool exclusive = false;
  bool reverse = false;
  static constexpr auto fields =
      std::tuple{field("axis", &Cumulative::axis), field("exclusive", &Cumulative::exclusive),
                 field("reverse", &Cumulative::reverse)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
