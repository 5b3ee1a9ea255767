// Elements that are not zero.
#include "ops/op/nonzero.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_nonzero() {
  static const OwnTacticOf<ops::NonZero> kTactic("cuda.nonzero", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
