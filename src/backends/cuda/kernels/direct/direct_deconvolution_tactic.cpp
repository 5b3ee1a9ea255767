// Generic deconvolution: preferred where a group has one channel, else a fallback after the libraries.
#include "backends/cuda/tactics/direct_tactic.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_direct_deconvolution() {
  static const DirectWindowTactic<ops::Deconvolution> kTactic("cuda.direct_deconvolution");
  return kTactic;
}

}  // namespace tenon::backends::cuda
