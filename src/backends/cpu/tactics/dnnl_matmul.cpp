// When the matmul of oneDNN can be used.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cpu {
namespace {

class MatMulTactic final : public SimpleTactic {
 public:
  MatMulTactic() : SimpleTactic("cpu.dnnl_matmul", false, 20) {}
  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::MatMul>() == nullptr) return compile::no("it computes matmul");
    if (problem.inputs[0].dims.count() == 0 || problem.inputs[1].dims.count() == 0)
      return compile::no("an operand is empty");
    return onlyF32(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_dnnl_matmul() {
  static const MatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
