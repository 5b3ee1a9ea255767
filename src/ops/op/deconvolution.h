// Deconvolution (transposed convolution) over 1, 2 or 3 spatial axes, with bias and a scalar epilogue.
#pragma once

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// Inputs: x [N,C,spatial...], w [C,K/groups,kernel...], bias [K] when hasBias, then the inputs x1.. of the epilogue,
// which broadcast to the output (aligned at the right). Output [N,K,spatial'...] with spatial' = (spatial - 1) * stride
// + dilation * (kernel - 1) + 1 - pre - post. The operands have one type; 8-bit integers accumulate (and enter the
// epilogue) as i32.
struct Deconvolution {
  static constexpr std::string_view kName = "deconvolution";
  std::vector<int64_t> strides;    // per spatial axis; empty: 1
  std::vector<int64_t> dilations;  // per spatial axis; empty: 1
  Shape prePadding;                // cut from the front of each spatial axis of the output; empty: 0
  Shape postPadding;               // cut from the end; empty: 0; negative values add zeros (output padding)
  int64_t groups = 1;
  bool hasBias = false;
  ScalarExpr epilogue;  // x0 = deconvolution + bias, x1.. = the extra inputs
  static constexpr auto fields =
      std::tuple{field("strides", &Deconvolution::strides),       field("dilations", &Deconvolution::dilations),
                 field("prePadding", &Deconvolution::prePadding), field("postPadding", &Deconvolution::postPadding),
                 field("groups", &Deconvolution::groups),         field("hasBias", &Deconvolution::hasBias),
                 field("epilogue", &Deconvolution::epilogue)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
