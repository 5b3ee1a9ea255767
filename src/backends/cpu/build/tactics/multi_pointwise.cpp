// When the block-wise pointwise kernel can be used for several outputs.
#include "ops/op/multi_pointwise.h"

#include "backends/cpu/build/scalar_work.h"
#include "backends/cpu/build/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class MultiPointwiseTactic final : public SimpleTactic {
 public:
  MultiPointwiseTactic() : SimpleTactic("cpu.multi_pointwise", true, 10) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::MultiPointwise>();
    if (op == nullptr) return build::no("it computes pointwise operators with several outputs");
    constexpr size_t kBuffers = 48;  // of a block
    return scalarWorkSupport(op->expr, problem, kBuffers);
  }

  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    addBlockedCandidate(name(), problem, result);
    allowPitch(result);
    return result;
  }
};

}  // namespace

const build::Tactic& tactic_multi_pointwise() {
  static const MultiPointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
