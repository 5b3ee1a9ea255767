// Convolutions whose window is the whole input, with few images.
#include "backends/cuda/tactics/direct_tactic.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {
namespace {

class SkinnyConvolutionTactic final : public OwnTacticOf<ops::Convolution> {
 public:
  SkinnyConvolutionTactic() : OwnTacticOf("cuda.skinny_convolution", Formats::kAlsoChannelsLast, kDepthwiseRank) {}

  // With one element per channel both formats are the same memory.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const Dims& w = problem.inputs[1].dims;
    auto result = OwnTacticOf::candidates(problem);
    if (w.count(2, w.rank) != 1) result.resize(1);
    for (auto& candidate : result) candidate.inputs[1] = Layout::kLinear;
    return result;
  }

 protected:
  compile::Support acceptsOp(const ops::Convolution& op, const compile::Problem& problem) const override {
    const Dims& x = problem.inputs[0].dims;
    const Dims& w = problem.inputs[1].dims;
    const Dims& y = problem.outputs[0].dims;
    if (op.groups != 1) return compile::no("{} groups", op.groups);
    if (y[0] > kMostSkinnyRows) return compile::no("a batch of {}; at most {} are supported", y[0], kMostSkinnyRows);
    for (int axis = 2; axis < x.rank; ++axis) {
      if (x[axis] != w[axis] || y[axis] != 1)
        return compile::no("the window {} does not cover the input {}", w.text(), x.text());
    }
    for (const auto* padding : {&op.prePadding, &op.postPadding}) {
      for (const auto& extent : *padding) {
        if (!extent.isConstant(0)) return compile::no("padding");
      }
    }
    return {directUnsupported(op.epilogue, inputTypes(problem), op.hasBias ? 3 : 2)};
  }
};

}  // namespace

const compile::Tactic& tactic_skinny_convolution() {
  static const SkinnyConvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
