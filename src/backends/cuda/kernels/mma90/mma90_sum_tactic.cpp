// When the sum of two convolutions is one product by warpgroups.
#include "backends/cuda/kernels/mma90/mma90_sum.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kLeastChannels = 32;  // of windows, as for one convolution

Mma90Sum::Parts partsOf(const Mma90Sum& sum, const compile::Problem& problem) {
  const auto candidate = channelsLastCandidate("", problem);
  std::vector<runtime::TensorShape> inputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i)
    inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
  const std::vector<runtime::TensorShape> outputs{
      {problem.outputs[0].dtype, problem.outputs[0].dims, candidate.outputs[0]}};
  return sum.partsOf({inputs, outputs, &problem.symbols});
}

class SumTactic final : public OwnTacticOf<ops::Composite> {
 public:
  SumTactic() : OwnTacticOf("cuda.mma90_sum", Formats::kAlsoChannelsLast, kMma90Rank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const auto parts = partsOf(Mma90Sum(problem.op), problem);
    return mma90Variants(channelsLastCandidate(name(), problem),
                         mma90AllCandidates(parts.first.point.shapes(&problem.symbols), parts.weights(), problem));
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto parts = partsOf(Mma90Sum(problem.op), problem);
    auto record = OwnTactic::build(problem, candidate);
    const auto other = parts.otherWeights();
    record.params = Mma90Record::params(parts.first.point.shapes(&problem.symbols), parts.weights(),
                                        Mma90Shape::parse(candidate.variant), &other);
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Composite&, const compile::Problem& problem) const override {
    const Mma90Sum sum(problem.op);
    if (!sum.refusal.empty()) return compile::no("{}", sum.refusal);
    for (const size_t i : {size_t{1}, Mma90Sum::kOtherBias, Mma90Sum::kMainWeights}) {
      if (problem.inputs[i].constant == nullptr) return compile::no("weights or bias are not constant");
    }
    const auto parts = partsOf(sum, problem);
    if (!parts.refusal.empty()) return compile::no("{}", parts.refusal);
    for (const auto* one : {&parts.first, &parts.second}) {
      if (const auto channels = one->weights().inner; one->image && channels < kLeastChannels)
        return compile::no("windows of {} channels; at least {} are supported", channels, kLeastChannels);
    }
    const ops::Operator convolution = sum.main;
    compile::Problem inner{convolution, {}, problem.outputs, problem.symbols, problem.tf32, problem.more};
    for (const size_t i : sum.inputs(problem.inputs.size())) inner.inputs.push_back(problem.inputs[i]);
    return mma90Support(parts.first.point.product, parts.first.point.shapes(&problem.symbols), inner);
  }
};

}  // namespace

const compile::Tactic& tactic_mma90_sum() {
  static const SumTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
