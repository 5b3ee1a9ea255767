// Reductions of every type.
#include "ops/op/reduce.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class ReduceTactic final : public OwnTacticOf<ops::Reduce> {
 public:
  ReduceTactic() : OwnTacticOf("cuda.reduce", Formats::kAlsoChannelsLast, 10) {}

  // A result without its axes has fewer than four; its input may still be channels-last.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = OwnTacticOf::candidates(problem);
    const int in = problem.inputs[0].dims.rank;
    if (in >= 4 && in <= 5 && problem.outputs[0].dims.rank < 4)
      result.push_back(channelsLastCandidate(name(), problem));
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_reduce() {
  static const ReduceTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
