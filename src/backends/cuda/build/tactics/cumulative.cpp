// Running sums of every type.
#include "ops/op/cumulative.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {

const build::Tactic& tactic_cumulative() {
  static const OwnTacticOf<ops::Cumulative> kTactic("cuda.cumulative", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
