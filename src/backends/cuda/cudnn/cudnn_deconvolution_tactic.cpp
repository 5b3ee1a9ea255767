// When cuDNN computes a deconvolution.
#include "backends/cuda/tactics/cudnn_window_tactic.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_cudnn_deconvolution() {
  static const CudnnWindowTactic<ops::Deconvolution> kTactic("cuda.cudnn_deconvolution");
  return kTactic;
}

}  // namespace tenon::backends::cuda
