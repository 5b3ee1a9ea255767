// When oneDNN computes deconvolutions.
#include "backends/cpu/build/simple_tactic.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cpu {
namespace {

class DeconvolutionTactic final : public SimpleTactic {
 public:
  DeconvolutionTactic() : SimpleTactic("cpu.dnnl_deconvolution", true, 20) {}
  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Deconvolution>();
    if (op == nullptr) return build::no("it computes deconvolutions");
    for (const auto& padding : op->prePadding) {
      if (padding.isConstant() && padding.constant() < 0) return build::no("padding of {} crops", padding.constant());
    }
    return onlyF32(problem);
  }
};

}  // namespace

const build::Tactic& tactic_dnnl_deconvolution() {
  static const DeconvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
