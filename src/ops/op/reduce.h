// Sum, product, extremes and mean over axes.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// In the order of the names.
enum class ReduceOp : uint8_t { kSum, kProd, kMax, kMin, kAvg };
constexpr std::array<std::string_view, 5> enumNames(ReduceOp) { return {"sum", "prod", "max", "min", "avg"}; }

// Input: x. Output: x without the axes (or with extent 1 there when keepDims). Over no element: sum 0, prod 1, max -inf
// or the lowest integer, min inf or the highest, avg NaN (0 for integers). Integers: sums and products wrap in 64 bits,
// then saturate into the type; the mean rounds towards zero. A NaN among floating values makes max and min NaN.
struct Reduce {
  static constexpr std::string_view kName = "reduce";
  ReduceOp op = ReduceOp::kSum;
  std::vector<int64_t> axes;  // distinct, each in [-rank, rank)
  bool keepDims = false;
  static constexpr auto fields =
      std::tuple{field("op", &Reduce::op), field("axes", &Reduce::axes), field("keepDims", &Reduce::keepDims)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
