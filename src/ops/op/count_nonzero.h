// How many elements are not zero.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Input: x, of any type. Output: i64, rank 0: how many elements differ from 0. NaN does, -0 does not.
struct CountNonZero {
  static constexpr std::string_view kName = "count_nonzero";
  static constexpr auto fields = std::tuple{};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

// Of one element of a tensor, in either of the two operators that ask.
inline bool isNonZero(const TensorView& x, int64_t i) {
  return isFloating(x.dtype) ? x.loadDouble(i) != 0 : x.loadInt(i) != 0;
}

}  // namespace tenon::ops
