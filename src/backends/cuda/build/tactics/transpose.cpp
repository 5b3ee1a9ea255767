// Transposition by strided copies.
#include "ops/op/transpose.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {

const build::Tactic& tactic_transpose() {
  static const OwnTacticOf<ops::Transpose> kTactic("cuda.transpose", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
