// Running sums of every type.
#include "ops/op/cumulative.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_cumulative() {
  static const OwnTacticOf<ops::Cumulative> kTactic("cuda.cumulative", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
