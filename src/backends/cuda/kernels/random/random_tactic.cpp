// Random numbers.
#include "ops/op/random.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_random() {
  static const OwnTacticOf<ops::Random> kTactic("cuda.random", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
