// Local response normalization.
#include "ops/op/lrn.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_lrn() {
  static const OwnTacticOf<ops::Lrn> kTactic("cuda.lrn", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
