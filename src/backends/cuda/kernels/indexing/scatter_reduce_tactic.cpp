// Elements combined with others at indices.
#include "ops/op/scatter_reduce.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_scatter_reduce() {
  static const OwnTacticOf<ops::ScatterReduce> kTactic("cuda.scatter_reduce", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
