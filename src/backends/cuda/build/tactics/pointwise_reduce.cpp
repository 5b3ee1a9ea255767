// When a reduction can compute the scalar work in front of it.
#include "ops/op/pointwise_reduce.h"

#include "backends/cuda/build/own_tactic.h"
#include "backends/cuda/run/pointwise_code.h"
#include "backends/cuda/run/pointwise_reduce.h"

namespace tenon::backends::cuda {
namespace {

class PointwiseReduceTactic final : public OwnTacticOf<ops::PointwiseReduce> {
 public:
  PointwiseReduceTactic() : OwnTacticOf("cuda.pointwise_reduce", Formats::kAlsoChannelsLast, 10) {}

  // A result without its axes has fewer than four; its inputs may still be channels-last.
  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    auto result = OwnTacticOf::candidates(problem);
    const int in = problem.inputs[0].dims.rank;
    if (in >= 4 && in <= 5 && problem.outputs[0].dims.rank < 4)
      result.push_back(channelsLastCandidate(name(), problem));
    return result;
  }

 protected:
  build::Support acceptsOp(const ops::PointwiseReduce& op, const build::Problem& problem) const override {
    if (problem.inputs.size() > kMaxReducedInputs) {
      return build::no("{} inputs; it takes {}", problem.inputs.size(), kMaxReducedInputs);
    }
    const auto output = problem.outputs[0].dtype;
    if (!isFloating(output)) return build::no("a result of {}; it computes in f32", tenon::name(output));
    return {pointwiseUnsupported(op.expr, inputTypes(problem), output)};
  }
};

}  // namespace

const build::Tactic& tactic_pointwise_reduce() {
  static const PointwiseReduceTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
