// Scatter in both modes.
#include "ops/op/scatter.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {

const build::Tactic& tactic_scatter() {
  static const OwnTacticOf<ops::Scatter> kTactic("cuda.scatter", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
