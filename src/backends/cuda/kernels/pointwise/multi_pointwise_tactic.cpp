// When generated pointwise code can be used for several outputs.
#include "ops/op/multi_pointwise.h"

#include "backends/cuda/kernels/pointwise/pointwise_code.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class MultiPointwiseTactic final : public OwnTacticOf<ops::MultiPointwise> {
 public:
  MultiPointwiseTactic() : OwnTacticOf("cuda.multi_pointwise", Formats::kAlsoChannelsLast, 10) {}

 protected:
  compile::Support acceptsOp(const ops::MultiPointwise& op, const compile::Problem& problem) const override {
    const size_t operands = problem.inputs.size() + problem.outputs.size();
    if (operands > kMaxOperands + 1)
      return compile::no("{} operands; at most {} are supported", operands, kMaxOperands + 1);
    return {pointwiseUnsupported(op.expr, inputTypes(problem), problem.outputs[0].dtype)};
  }
};

}  // namespace

const compile::Tactic& tactic_multi_pointwise() {
  static const MultiPointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
