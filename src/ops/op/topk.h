// The k largest or smallest elements along an axis, sorted, with their indices.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x. Outputs: values (type of x) and indices (indexType), both with extent k at the axis, best first. Of equal
// elements the lower index comes first. NaN counts as larger than every number.
struct TopK {
  static constexpr std::string_view kName = "topk";
  bool largest = true;
  Extent k = 1;
  int64_t axis = -1;                    // in [-rank, rank)
  DataType indexType = DataType::kI32;  // i32 or i64
  static constexpr auto fields = std::tuple{field("largest", &TopK::largest), field("k", &TopK::k),
                                            field("axis", &TopK::axis), field("indexType", &TopK::indexType)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
