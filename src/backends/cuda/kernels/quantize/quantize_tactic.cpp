// Quantization to the types of eight bits.
#include "ops/op/quantize.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_quantize() {
  static const OwnTacticOf<ops::Quantize> kTactic("cuda.quantize", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
