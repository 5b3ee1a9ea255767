// When a deconvolution is an enlargement without overlap.
#include "backends/cpu/tactics/common/tile_support.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cpu {
namespace {

class UpsampleTactic final : public SimpleTactic {
 public:
  UpsampleTactic() : SimpleTactic("cpu.upsample", true, 15) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Deconvolution>();
    if (op == nullptr) return compile::no("it computes deconvolutions");
    const auto& w = problem.inputs[1];
    if (w.dims.rank != 4 || op->groups != 1)
      return compile::no("{} spatial dimensions and {} groups; only 2 dimensions and one group are supported",
                         w.dims.rank - 2, op->groups);
    if (w.constant == nullptr || (op->hasBias && problem.inputs[2].constant == nullptr))
      return compile::no("the weights or the bias are not constant");
    for (size_t i = 0; i < 2; ++i) {
      const int64_t stride = op->strides.empty() ? 1 : op->strides[i];
      const int64_t dilation = op->dilations.empty() ? 1 : op->dilations[i];
      if (stride != w.dims[static_cast<int>(i) + 2] || dilation != 1)
        return compile::no("the stride differs from the window");
      for (const auto* padding : {&op->prePadding, &op->postPadding}) {
        if (!padding->empty() && !(*padding)[i].isConstant(0)) return compile::no("the result is cropped or padded");
      }
    }
    const size_t firstExtra = op->hasBias ? 3 : 2;
    for (size_t i = firstExtra; i < problem.inputs.size(); ++i) {
      if (problem.inputs[i].dims == problem.outputs[0].dims && problem.inputs[i].dims.count() != 1) {
        return compile::no("an epilogue operand has the size of the result");
      }
    }
    if (const auto fits = tileEpilogueFits(problem, op->epilogue, firstExtra, 1); !fits) return fits;
    return onlyF32(problem);
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    result.erase(result.begin());  // row-major
    return result;
  }
  int rank(const compile::Problem&, const compile::Candidate&) const override { return 15; }
};

}  // namespace

const compile::Tactic& tactic_upsample() {
  static const UpsampleTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
