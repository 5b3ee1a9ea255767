// When convolutions of channels-last images can be products by warpgroups, and in which tiles.
#include "backends/cuda/kernels/mma90/mma90_convolution.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "core/environment.h"

namespace tenon::backends::cuda {
namespace {

// A stage holds 32 or 64 channels of one tap: with fewer than these nearly all of it would be zeros.
constexpr int64_t kLeastChannels = 16;

// The problem's operands as they lie where they may be channels-last.
Mma90Convolution convolutionOf(const ops::Convolution& op, const compile::Problem& problem) {
  const auto candidate = channelsLastCandidate("", problem);
  std::vector<runtime::TensorShape> inputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i)
    inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
  const std::vector<runtime::TensorShape> outputs{
      {problem.outputs[0].dtype, problem.outputs[0].dims, candidate.outputs[0]}};
  return {op, {inputs, outputs, &problem.symbols}};
}

class Mma90ConvolutionTactic final : public OwnTacticOf<ops::Convolution> {
 public:
  Mma90ConvolutionTactic() : OwnTacticOf("cuda.mma90_convolution", Formats::kAlsoChannelsLast, kMma90Rank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const auto convolution = convolutionOf(*problem.op.as<ops::Convolution>(), problem);
    const auto weights = convolution.weights();
    auto shapes = mma90AllCandidates(convolution.point.shapes(&problem.symbols), weights, problem);
    const bool mayOmit = convolution.image && switchedOn("TENON_CUDA_OMITTED_TAPS", true);
    for (auto& shape : shapes) shape.omits = mayOmit && mma90MayOmit(*convolution.image, weights, shape);
    auto candidate = channelsLastCandidate(name(), problem);
    candidate.inputs[1] = Layout::kLinear;
    return mma90Variants(candidate, shapes);
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto convolution = convolutionOf(*problem.op.as<ops::Convolution>(), problem);
    auto record = OwnTactic::build(problem, candidate);
    record.params = Mma90Record::params(convolution.point.shapes(&problem.symbols), convolution.weights(),
                                        Mma90Shape::parse(candidate.variant));
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Convolution& op, const compile::Problem& problem) const override {
    const auto convolution = convolutionOf(op, problem);
    if (!convolution.refusal.empty()) return compile::no("{}", convolution.refusal);
    if (const auto channels = convolution.weights().partInner(); convolution.image && channels < kLeastChannels)
      return compile::no("windows of {} channels; at least {} are supported", channels, kLeastChannels);
    return mma90Support(convolution.point.product, convolution.point.shapes(&problem.symbols), problem);
  }
};

}  // namespace

const compile::Tactic& tactic_mma90_convolution() {
  static const Mma90ConvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
