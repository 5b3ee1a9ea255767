// When deconvolutions of channels-last images can be products by warpgroups, and in which tiles.
#include "backends/cuda/kernels/mma90/mma90_deconvolution.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kLeastChannels = 32;  // a step holds 32 or 64: with fewer most of it would be zeros

// The problem's operands as they lie where they may be channels-last.
Mma90Deconvolution deconvolutionOf(const ops::Deconvolution& op, const compile::Problem& problem) {
  const auto candidate = channelsLastCandidate("", problem);
  std::vector<runtime::TensorShape> inputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i)
    inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
  const std::vector<runtime::TensorShape> outputs{
      {problem.outputs[0].dtype, problem.outputs[0].dims, candidate.outputs[0]}};
  return {op, {inputs, outputs, &problem.symbols}};
}

class Mma90DeconvolutionTactic final : public OwnTacticOf<ops::Deconvolution> {
 public:
  Mma90DeconvolutionTactic() : OwnTacticOf("cuda.mma90_deconvolution", Formats::kAlsoChannelsLast, kMma90Rank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const auto deconvolution = deconvolutionOf(*problem.op.as<ops::Deconvolution>(), problem);
    auto weights = deconvolution.weights();
    weights.isExact = weights.bytes == 4 && !problem.tf32;
    std::vector<compile::Candidate> result;
    for (const auto& shape : mma90Candidates(deconvolution.shapes(&problem.symbols), weights, problem)) {
      result.push_back(channelsLastCandidate(name(), problem));
      result.back().inputs[1] = Layout::kLinear;
      result.back().variant = shape.text();
    }
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto deconvolution = deconvolutionOf(*problem.op.as<ops::Deconvolution>(), problem);
    auto record = OwnTactic::build(problem, candidate);
    record.params = Mma90Record::params(deconvolution.shapes(&problem.symbols), deconvolution.weights(),
                                        Mma90Shape::parse(candidate.variant));
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Deconvolution& op, const compile::Problem& problem) const override {
    const auto deconvolution = deconvolutionOf(op, problem);
    if (!deconvolution.refusal.empty()) return compile::no("{}", deconvolution.refusal);
    if (problem.inputs[0].dims[1] < kLeastChannels)
      return compile::no("{} channels; at least {} are supported", problem.inputs[0].dims[1], kLeastChannels);
    return mma90Support(deconvolution.product, deconvolution.shapes(&problem.symbols), problem);
  }
};

}  // namespace

const compile::Tactic& tactic_mma90_deconvolution() {
  static const Mma90DeconvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
