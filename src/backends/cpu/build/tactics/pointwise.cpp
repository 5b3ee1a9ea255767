// When the block-wise pointwise kernel can be used.
#include "backends/cpu/build/scalar_work.h"
#include "backends/cpu/build/simple_tactic.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cpu {
namespace {

class PointwiseTactic final : public SimpleTactic {
 public:
  PointwiseTactic() : SimpleTactic("cpu.pointwise", true, 10) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Pointwise>();
    if (op == nullptr) return build::no("it computes pointwise operators");
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

const build::Tactic& tactic_pointwise() {
  static const PointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
