// When oneDNN convolves.
#include "backends/cpu/build/simple_tactic.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cpu {
namespace {

class ConvolutionTactic final : public SimpleTactic {
 public:
  ConvolutionTactic() : SimpleTactic("cpu.dnnl_convolution", true, 20) {}
  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Convolution>();
    if (op == nullptr) return build::no("it computes convolutions");
    for (const auto& padding : op->prePadding) {
      if (padding.isConstant() && padding.constant() < 0) return build::no("padding of {} crops", padding.constant());
    }
    return onlyF32(problem);
  }
};

}  // namespace

const build::Tactic& tactic_dnnl_convolution() {
  static const ConvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
