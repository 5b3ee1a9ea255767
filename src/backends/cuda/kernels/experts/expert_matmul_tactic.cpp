// Products with experts.
#include "ops/op/expert_matmul.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_expert_matmul() {
  static const OwnTacticOf<ops::ExpertMatMul> kTactic("cuda.expert_matmul", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
