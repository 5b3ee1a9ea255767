// Pointwise (1x1) convolutions of few channels, channels-last: bound by memory bandwidth.
#include "backends/cuda/kernels/narrow_convolution/narrow_convolution.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class NarrowTactic final : public OwnTacticOf<ops::Convolution> {
 public:
  NarrowTactic() : OwnTacticOf("cuda.narrow_convolution", Formats::kAlsoChannelsLast, 12) {}
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto candidate = channelsLastCandidate(name(), problem);
    candidate.inputs[1] = Layout::kLinear;
    return {candidate};
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    const auto& w = problem.inputs[1].dims;
    const auto kinds = kindsOf(*problem.op.as<ops::Convolution>(), problem, candidate);
    record.params = fmt::format("[{},{},{}]{} {}", w[0], w[1], groupOf(problem), kinds, record.params);
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Convolution& op, const compile::Problem& problem) const override {
    const auto& x = problem.inputs[0];
    const auto& w = problem.inputs[1];
    if (bits(x.dtype) != 16 || !isFloating(x.dtype)) return compile::no("operands of {}", tenon::name(x.dtype));
    if (w.constant == nullptr) return compile::no("the weights are not constant");
    const auto kinds = kindsOf(op, problem, channelsLastCandidate(name(), problem));
    const NarrowForm form(op, w.dims, groupOf(problem), kinds, problem.outputs[0].dtype);
    if (!form.refusal.empty()) return compile::no("{}", form.refusal);
    const auto& y = problem.outputs[0].dims;
    for (size_t k = 0; k < kinds.size(); ++k) {
      const auto& extra = problem.inputs[problem.inputs.size() - kinds.size() + k];
      if (kinds[k] == 0 || isUnknown(extra, y, problem)) {
        return compile::no("an epilogue operand of {}", extra.dims.text());
      }
    }
    return {directUnsupported(op.epilogue, inputTypes(problem), op.hasBias ? 3 : 2)};
  }

 private:
  static int64_t groupOf(const compile::Problem& problem) {
    const auto& y = problem.outputs[0].dims;
    return NarrowForm::groupFor(y[0] * y.count(2, y.rank), y[1]);
  }
  // Whether extents that may change could make the operand another kind: axes of one, as in the result.
  static bool isUnknown(const compile::TensorDesc& extra, const Dims& y, const compile::Problem& problem) {
    if (problem.symbols.empty() || extra.constant != nullptr) return false;
    for (int axis = 0; axis < extra.dims.rank; ++axis) {
      const int ofResult = axis + y.rank - extra.dims.rank;
      if (ofResult >= 0 && extra.dims[axis] == 1 && y[ofResult] == 1) return true;
    }
    return false;
  }
  static std::string kindsOf(const ops::Convolution& op, const compile::Problem& problem,
                             const compile::Candidate& candidate) {
    const auto& y = problem.outputs[0];
    std::string kinds;
    for (size_t i = op.hasBias ? 3 : 2; i < problem.inputs.size(); ++i) {
      const auto& extra = problem.inputs[i];
      kinds += narrowKind({extra.dtype, extra.dims, candidate.inputs[i]}, {y.dtype, y.dims, candidate.outputs[0]});
    }
    return kinds;
  }
};

}  // namespace

const compile::Tactic& tactic_narrow_convolution() {
  static const NarrowTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
