// When products with experts are computed by expert.
#include "ops/op/expert_matmul.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class ExpertMatMulTactic final : public SimpleTactic {
 public:
  ExpertMatMulTactic() : SimpleTactic("cpu.expert_matmul", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::ExpertMatMul>() == nullptr) return compile::no("it multiplies with experts");
    const DataType experts = problem.inputs[1].dtype;
    if (experts != DataType::kI32 && experts != DataType::kI64)
      return compile::no("numbers of experts of {}", tenon::name(experts));
    if (problem.inputs[0].dtype != DataType::kF32)
      return compile::no("values of {}, expected f32", tenon::name(problem.inputs[0].dtype));
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_expert_matmul() {
  static const ExpertMatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
