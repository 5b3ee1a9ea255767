// When oneDNN convolves.
#include "backends/cpu/tactics/common/dnnl_window_tactic.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cpu {

const compile::Tactic& tactic_dnnl_convolution() {
  static const DnnlWindowTactic<ops::Convolution> kTactic("cpu.dnnl_convolution");
  return kTactic;
}

}  // namespace tenon::backends::cpu
