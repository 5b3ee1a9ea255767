// When the reduction kernel can be used.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/sibling_reductions.h"

namespace tenon::backends::cpu {
namespace {

class ReductionTactic final : public SimpleTactic {
 public:
  ReductionTactic() : SimpleTactic("cpu.reduction", true, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Reduce>() != nullptr) return onlyWholeBytes(problem);
    if (ops::siblingReductions(problem.op).empty())
      return compile::no("it computes reduce, and several of one tensor over the same axes");
    return onlyWholeBytes(problem);
  }

  // A reduced result without its axes has fewer than four; its input may still be channels-last.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Reduce>() == nullptr) return uniformCandidates(name(), problem, false);
    auto result = SimpleTactic::candidates(problem);
    const int in = problem.inputs[0].dims.rank;
    if (in >= 4 && in <= 5 && problem.outputs[0].dims.rank < 4) {
      result.push_back({std::string(name()), "", {Layout::kChannelsLast}, {Layout::kLinear}});
    }
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_reduction() {
  static const ReductionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
