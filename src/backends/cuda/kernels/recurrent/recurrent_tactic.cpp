// Recurrent networks of any kind and size.
#include "backends/cuda/tactics/own_tactic.h"
#include "ops/op/recurrent.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_recurrent() {
  static const OwnTacticOf<ops::Recurrent> kTactic("cuda.recurrent", Formats::kLinear, 20);
  return kTactic;
}

}  // namespace tenon::backends::cuda
