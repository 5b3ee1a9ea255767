// Suppression of boxes with outputs of a fixed size.
#include "ops/op/padded_nms.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_padded_nms() {
  static const OwnTacticOf<ops::PaddedNms> kTactic("cuda.padded_nms", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
