// Gather in every mode.
#include "ops/op/gather.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {

const build::Tactic& tactic_gather() {
  static const OwnTacticOf<ops::Gather> kTactic("cuda.gather", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
