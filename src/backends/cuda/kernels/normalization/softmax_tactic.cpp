// Softmax of floating types.
#include "ops/op/softmax.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_softmax() {
  static const OwnTacticOf<ops::Softmax> kTactic("cuda.softmax", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
