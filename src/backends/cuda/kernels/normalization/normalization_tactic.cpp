// Normalization with scale and bias.
#include "ops/op/normalization.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class NormalizationTactic final : public OwnTacticOf<ops::Normalization> {
 public:
  NormalizationTactic() : OwnTacticOf("cuda.normalization", Formats::kAlsoChannelsLast, 10) {}

 protected:
  compile::Support acceptsOp(const ops::Normalization& op, const compile::Problem& problem) const override {
    if (op.groups > 1 && problem.inputs[0].dims.rank == kMaxRank) return compile::no("{} axes and groups", kMaxRank);
    return compile::yes();
  }
  // The skip is read at the places of x: both linear, a constant is nothing else.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = OwnTacticOf::candidates(problem);
    if (problem.op.as<ops::Normalization>()->skip) result.resize(1);
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_normalization() {
  static const NormalizationTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
