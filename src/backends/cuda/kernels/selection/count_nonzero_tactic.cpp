// Counts of elements that are not zero.
#include "ops/op/count_nonzero.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_count_nonzero() {
  static const OwnTacticOf<ops::CountNonZero> kTactic("cuda.count_nonzero", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
