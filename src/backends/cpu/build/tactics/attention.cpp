// When the block-wise attention can be used.
#include "ops/op/attention.h"

#include "backends/cpu/build/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class AttentionTactic final : public SimpleTactic {
 public:
  AttentionTactic() : SimpleTactic("cpu.attention", false, 10) {}
  build::Support supports(const build::Problem& problem) const override {
    if (problem.op.as<ops::Attention>() == nullptr) return build::no("it computes attention");
    return onlyF32(problem);
  }
};

}  // namespace

const build::Tactic& tactic_attention() {
  static const AttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
