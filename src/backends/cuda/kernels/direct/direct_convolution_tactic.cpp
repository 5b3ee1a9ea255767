// Generic convolution: preferred where a group has one channel, else a fallback after the libraries.
#include "backends/cuda/tactics/direct_tactic.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_direct_convolution() {
  static const DirectWindowTactic<ops::Convolution> kTactic("cuda.direct_convolution");
  return kTactic;
}

}  // namespace tenon::backends::cuda
