// TopK of any type and extent.
#include "ops/op/topk.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_topk() {
  static const OwnTacticOf<ops::TopK> kTactic("cuda.topk", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
