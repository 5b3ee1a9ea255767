// Where the elements are that are not zero.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x, of any type. Output: coordinates [rank of x, size]: column j holds those of the j-th element that is not
// zero, in row-major order. `size` is what CountNonZero gives: elements beyond it are left out, and columns that no
// element is there for are 0.
struct NonZero {
  static constexpr std::string_view kName = "nonzero";
  Extent size = 0;
  DataType indexType = DataType::kI32;  // i32 or i64
  static constexpr auto fields = std::tuple{field("size", &NonZero::size), field("indexType", &NonZero::indexType)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
