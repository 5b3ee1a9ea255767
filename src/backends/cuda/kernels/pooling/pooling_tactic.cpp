// Pooling of every type.
#include "ops/op/pooling.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_pooling() {
  static const OwnTacticOf<ops::Pooling> kTactic("cuda.pooling", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
