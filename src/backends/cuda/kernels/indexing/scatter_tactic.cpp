// Scatter in both modes.
#include "ops/op/scatter.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_scatter() {
  static const OwnTacticOf<ops::Scatter> kTactic("cuda.scatter", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
