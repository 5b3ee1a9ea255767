// Casts that change the format as well, as they stand at the border of a network.
#include "backends/cuda/tactics/own_tactic.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cuda {
namespace {

class TurnedPointwiseTactic final : public OwnTacticOf<ops::Pointwise> {
 public:
  TurnedPointwiseTactic() : OwnTacticOf("cuda.turned_pointwise", Formats::kLinear, 12) {}
  std::vector<compile::Candidate> candidates(const compile::Problem&) const override {
    return {{std::string(name()), "", {Layout::kLinear}, {Layout::kChannelsLast}},
            {std::string(name()), "", {Layout::kChannelsLast}, {Layout::kLinear}}};
  }

 protected:
  compile::Support acceptsOp(const ops::Pointwise& op, const compile::Problem& problem) const override {
    if (problem.inputs.size() != 1) return compile::no("it reads one operand, not {}", problem.inputs.size());
    const auto& x = problem.inputs[0];
    const auto& y = problem.outputs[0];
    if (x.dims.rank < 4 || x.dims.rank > 5 || x.dims != y.dims)
      return compile::no("{} to {}: it takes four or five axes and keeps them", x.dims.text(), y.dims.text());
    // Within a network others change formats, so that a kernel more for each node would be compiled for nothing.
    if (x.dtype == y.dtype) return compile::no("the type stays {}", tenon::name(x.dtype));
    constexpr int64_t kFew = 8;  // channels or pixels, of which tiles would be nearly empty
    if (y.dims[1] < kFew || y.dims.count() < kFew * y.dims[0] * y.dims[1])
      return compile::no("{} has fewer than {} channels or pixels", y.dims.text(), kFew);
    return {pointwiseUnsupported(op.expr, inputTypes(problem), y.dtype)};
  }
};

}  // namespace

const compile::Tactic& tactic_turned_pointwise() {
  static const TurnedPointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
