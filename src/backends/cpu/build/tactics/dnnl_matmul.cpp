// When oneDNN multiplies matrices.
#include "backends/cpu/build/simple_tactic.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cpu {
namespace {

class MatMulTactic final : public SimpleTactic {
 public:
  MatMulTactic() : SimpleTactic("cpu.dnnl_matmul", false, 20) {}
  build::Support supports(const build::Problem& problem) const override {
    if (problem.op.as<ops::MatMul>() == nullptr) return build::no("it computes matrix products");
    if (problem.inputs[0].dims.count() == 0 || problem.inputs[1].dims.count() == 0) return build::no("an operand is empty");
    return onlyF32(problem);
  }
};

}  // namespace

const build::Tactic& tactic_dnnl_matmul() {
  static const MatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
