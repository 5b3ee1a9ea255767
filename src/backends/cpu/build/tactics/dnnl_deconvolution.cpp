// When oneDNN computes deconvolutions.
#include "backends/cpu/build/dnnl_window_tactic.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cpu {

const build::Tactic& tactic_dnnl_deconvolution() {
  static const DnnlWindowTactic<ops::Deconvolution> kTactic("cpu.dnnl_deconvolution");
  return kTactic;
}

}  // namespace tenon::backends::cpu
