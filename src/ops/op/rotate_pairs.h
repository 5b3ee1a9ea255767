// Pairs of columns turned by angles: rotary embedding.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x [...,W] of f32, cosines and sines [...,P] of f32, alike, whose leading extents broadcast to those of x.
// Output [...,2P], 2P <= W: of columns a and b of x, which are p and P + p, interleaved 2p and 2p + 1, those columns
// of the output are a cos - b sin and a sin + b cos; columns of x behind 2P are not read.
struct RotatePairs {
  static constexpr std::string_view kName = "rotate_pairs";
  bool interleaved = false;
  static constexpr auto fields = std::tuple{field("interleaved", &RotatePairs::interleaved)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
