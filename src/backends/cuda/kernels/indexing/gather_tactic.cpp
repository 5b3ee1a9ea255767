// Gather in every mode.
#include "ops/op/gather.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_gather() {
  static const OwnTacticOf<ops::Gather> kTactic("cuda.gather", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
