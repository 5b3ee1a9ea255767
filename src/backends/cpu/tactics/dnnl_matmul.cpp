// When the matmul of oneDNN can be used.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "backends/cpu/tactics/common/tile_support.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cpu {
namespace {

class MatMulTactic final : public SimpleTactic {
 public:
  MatMulTactic() : SimpleTactic("cpu.dnnl_matmul", false, 20) {}
  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::MatMul>();
    if (op == nullptr) return compile::no("it computes matmul");
    if (const auto support = staysF32(op->epilogue); !support) return support;
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
