// Fills of every type.
#include "ops/op/fill.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {

const build::Tactic& tactic_fill() {
  static const OwnTacticOf<ops::Fill> kTactic("cuda.fill", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
