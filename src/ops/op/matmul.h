// Matmul over broadcast batches, with a fused scalar epilogue.
#pragma once

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// Inputs: a [...,M,K] ([...,K,M] when transposeA), b [...,K,N] ([...,N,K] when transposeB), then the inputs x1.. of the
// epilogue, which broadcast to the output (aligned at the right). The leading extents broadcast. Output [...,M,N].
// The operands have one type; 8-bit integers accumulate (and enter the epilogue) as i32.
struct MatMul {
  static constexpr std::string_view kName = "matmul";
  bool transposeA = false;
  bool transposeB = false;
  ScalarExpr epilogue;  // x0 = the product, x1.. = the extra inputs
  static constexpr auto fields =
      std::tuple{field("transposeA", &MatMul::transposeA), field("transposeB", &MatMul::transposeB),
                 field("epilogue", &MatMul::epilogue)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
