// The extents of a tensor.
#include "ops/op/shape.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_shape() {
  static const OwnTacticOf<ops::ShapeOf> kTactic("cuda.shape", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
