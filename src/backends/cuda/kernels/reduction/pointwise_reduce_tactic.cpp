// When a reduction can compute its pointwise prologue.
#include "ops/op/pointwise_reduce.h"

#include "backends/cuda/kernels/pointwise/pointwise_code.h"
#include "backends/cuda/kernels/reduction/pointwise_reduce.h"
#include "backends/cuda/kernels/reduction/reducing_tactic.h"

namespace tenon::backends::cuda {
namespace {

class PointwiseReduceTactic final : public ReducingTactic<ops::PointwiseReduce> {
 public:
  PointwiseReduceTactic() : ReducingTactic("cuda.pointwise_reduce", Formats::kAlsoChannelsLast, 10) {}
  int version() const override { return 2; }

 protected:
  compile::Support acceptsOp(const ops::PointwiseReduce& op, const compile::Problem& problem) const override {
    if (problem.inputs.size() > kMaxReducedInputs) {
      return compile::no("{} inputs; at most {} are supported", problem.inputs.size(), kMaxReducedInputs);
    }
    const auto output = problem.outputs[0].dtype;
    if (!isFloating(output)) return compile::no("a result of {}; only f32 is supported", tenon::name(output));
    return {pointwiseUnsupported(op.expr, inputTypes(problem), output)};
  }
};

}  // namespace

const compile::Tactic& tactic_pointwise_reduce() {
  static const PointwiseReduceTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
