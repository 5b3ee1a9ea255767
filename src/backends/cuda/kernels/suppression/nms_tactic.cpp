// Suppression of boxes.
#include "ops/op/nms.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_nms() {
  static const OwnTacticOf<ops::Nms> kTactic("cuda.nms", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
