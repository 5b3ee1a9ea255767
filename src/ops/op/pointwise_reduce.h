// A reduction of what a scalar expression computes, which no tensor holds.
#pragma once

#include "ops/op/reduce.h"
#include "ops/scalar.h"

namespace tenon::ops {

// Inputs x0, x1, ... broadcast against each other as those of Pointwise. Output: Reduce of the expression's values over
// axes of their common shape. The network has no such layer: passes make it of two nodes.
struct PointwiseReduce {
  static constexpr std::string_view kName = "pointwise_reduce";
  ScalarExpr expr;
  ReduceOp op = ReduceOp::kSum;
  std::vector<int64_t> axes;  // distinct, each in [-rank, rank)
  bool keepDims = false;
  static constexpr auto fields =
      std::tuple{field("expr", &PointwiseReduce::expr), field("op", &PointwiseReduce::op),
                 field("axes", &PointwiseReduce::axes), field("keepDims", &PointwiseReduce::keepDims)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

// Whether the expression is mul(x0,x1) or mul(x1,x0).
bool isProductOfInputs(const ScalarExpr& expr);

// The common extents of broadcast operands.
Dims broadcastDims(std::span<const Dims> operands);

}  // namespace tenon::ops
