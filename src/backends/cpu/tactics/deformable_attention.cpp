// When values at places of maps are summed.
#include "ops/op/deformable_attention.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class DeformableAttentionTactic final : public SimpleTactic {
 public:
  DeformableAttentionTactic() : SimpleTactic("cpu.deformable_attention", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::DeformableAttention>() == nullptr) return compile::no("it sums values at places of maps");
    if (problem.inputs[0].dtype != DataType::kF32) {
      return compile::no("values of {}; expected f32", tenon::name(problem.inputs[0].dtype));
    }
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_deformable_attention() {
  static const DeformableAttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
