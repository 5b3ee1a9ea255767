// When oneDNN computes deconvolutions.
#include "backends/cpu/tactics/common/dnnl_window_tactic.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cpu {

const compile::Tactic& tactic_dnnl_deconvolution() {
  static const DnnlWindowTactic<ops::Deconvolution> kTactic("cpu.dnnl_deconvolution");
  return kTactic;
}

}  // namespace tenon::backends::cpu
