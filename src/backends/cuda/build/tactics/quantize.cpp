// Quantization to the types of eight bits.
#include "ops/op/quantize.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {

const build::Tactic& tactic_quantize() {
  static const OwnTacticOf<ops::Quantize> kTactic("cuda.quantize", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
