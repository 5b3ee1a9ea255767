// Local response normalization.
#include "ops/op/lrn.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {

const build::Tactic& tactic_lrn() {
  static const OwnTacticOf<ops::Lrn> kTactic("cuda.lrn", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
