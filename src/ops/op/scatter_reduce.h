// Elements of a tensor combined with others at indices.
#pragma once

#include "ops/op/reduce.h"

namespace tenon::ops {

// Inputs: data; indices (i32 or i64) and updates (of the type of data) of one shape, whose rank is that of data and
// which is not larger but along the axis. The output is data, where out[j.. with indices[j..] at `axis`] is combined
// with updates[j..], one after the other: sum, prod, max or min. A negative index counts from the end; an index outside
// is a UserError of the evaluation. Floating types are combined in double and rounded once; integers wrap in their
// type. A NaN makes the result NaN. With `rows` indices have the extent 1 along the axes behind the axis, where data
// and updates have the same ones: out[j.., indices[j..], :] is combined with updates[j.., :].
struct ScatterReduce {
  static constexpr std::string_view kName = "scatter_reduce";
  ReduceOp op = ReduceOp::kSum;  // not the mean
  int64_t axis = 0;
  bool rows = false;
  static constexpr auto fields = std::tuple{field("op", &ScatterReduce::op), field("axis", &ScatterReduce::axis),
                                            field("rows", &ScatterReduce::rows)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
