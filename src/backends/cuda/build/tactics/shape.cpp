// Extents.
#include "ops/op/shape.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {

const build::Tactic& tactic_shape() {
  static const OwnTacticOf<ops::ShapeOf> kTactic("cuda.shape", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
