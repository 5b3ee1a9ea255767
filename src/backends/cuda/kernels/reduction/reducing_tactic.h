// What the tactics of reductions share.
#pragma once

#include <vector>

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

template <typename Op>
class ReducingTactic : public OwnTacticOf<Op> {
 public:
  using OwnTacticOf<Op>::OwnTacticOf;

  // A result without its axes has fewer than four; its inputs may still be channels-last.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = OwnTacticOf<Op>::candidates(problem);
    const int in = problem.inputs[0].dims.rank;
    if (in >= 4 && in <= 5 && problem.outputs[0].dims.rank < 4)
      result.push_back(channelsLastCandidate(this->name(), problem));
    return result;
  }
};

}  // namespace tenon::backends::cuda
