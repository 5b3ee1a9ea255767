// Dequantization from the types of eight bits and more.
#include "ops/op/dequantize.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_dequantize() {
  static const OwnTacticOf<ops::Dequantize> kTactic("cuda.dequantize", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
