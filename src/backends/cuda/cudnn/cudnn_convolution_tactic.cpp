// When cuDNN computes a convolution.
#include "backends/cuda/tactics/cudnn_window_tactic.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_cudnn_convolution() {
  static const CudnnWindowTactic<ops::Convolution> kTactic("cuda.cudnn_convolution");
  return kTactic;
}

}  // namespace tenon::backends::cuda
