// Transposition by strided copies.
#include "ops/op/transpose.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_transpose() {
  static const OwnTacticOf<ops::Transpose> kTactic("cuda.transpose", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
