// Weighted sums at places of maps.
#include "ops/op/deformable_attention.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_deformable_attention() {
  static const OwnTacticOf<ops::DeformableAttention> kTactic("cuda.deformable_attention", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
