// When the block-wise attention can be used.
#include "ops/op/attention.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class AttentionTactic final : public SimpleTactic {
 public:
  AttentionTactic() : SimpleTactic("cpu.attention", false, 10) {}
  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Attention>() == nullptr) return compile::no("it computes attention");
    return onlyF32(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_attention() {
  static const AttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
