// Pixels at the places of a grid: of planes, or of channels that stand side by side.
#include "ops/op/grid_sample.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class GridSampleTactic final : public OwnTacticOf<ops::GridSample> {
 public:
  GridSampleTactic() : OwnTacticOf("cuda.grid_sample", Formats::kLinear, 10) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    std::vector<compile::Candidate> result{compile::rowMajor(name(), problem)};
    result.push_back(result[0]);
    result[1].inputs[0] = result[1].outputs[0] = Layout::kChannelsLast;
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_grid_sample() {
  static const GridSampleTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
