// Fills of every type.
#include "ops/op/fill.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_fill() {
  static const OwnTacticOf<ops::Fill> kTactic("cuda.fill", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
