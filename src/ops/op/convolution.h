// Convolution over 1, 2 or 3 spatial axes, with bias and a fused scalar epilogue.
#pragma once

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

// Inputs: x [N,C,spatial...], w [K,C/groups,kernel...], bias [K] when hasBias, then the inputs x1.. of the epilogue,
// which broadcast to the output (aligned at the right). Output [N,K,spatial'...] with spatial' = floor((spatial + pre +
// post - (dilation * (kernel - 1) + 1)) / stride) + 1. The operands have one type; 8-bit integers accumulate (and enter
// the epilogue) as i32.
struct Convolution {
  static constexpr std::string_view kName = "convolution";
  std::vector<int64_t> strides;    // per spatial axis; empty: 1
  std::vector<int64_t> dilations;  // per spatial axis; empty: 1
  Shape prePadding;                // zeros before each spatial axis; empty: 0; may be negative (cropping)
  Shape postPadding;               // behind each spatial axis; empty: 0
  int64_t groups = 1;
  bool hasBias = false;
  ScalarExpr epilogue;  // x0 = convolution + bias, x1.. = the extra inputs
  static constexpr auto fields =
      std::tuple{field("strides", &Convolution::strides),       field("dilations", &Convolution::dilations),
                 field("prePadding", &Convolution::prePadding), field("postPadding", &Convolution::postPadding),
                 field("groups", &Convolution::groups),         field("hasBias", &Convolution::hasBias),
                 field("epilogue", &Convolution::epilogue)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
