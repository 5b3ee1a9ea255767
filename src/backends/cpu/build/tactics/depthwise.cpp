// When the own depthwise convolution can be used.
#include "backends/cpu/build/tile_support.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cpu {
namespace {

class DepthwiseTactic final : public SimpleTactic {
 public:
  DepthwiseTactic() : SimpleTactic("cpu.depthwise", true, 15) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Convolution>();
    if (op == nullptr) return build::no("it computes convolutions");
    const auto& w = problem.inputs[1];
    if (w.dims.rank != 4) return build::no("{} spatial axes; it walks images", w.dims.rank - 2);
    if (w.dims[1] != 1 || w.dims[0] != op->groups || op->groups < 2) return build::no("weights {} of {} groups are not depthwise", w.dims.text(), op->groups);
    if (w.constant == nullptr || (op->hasBias && problem.inputs[2].constant == nullptr)) return build::no("the weights or the bias are computed");
    constexpr int64_t kMostTaps = 128;
    if (w.dims.count(2, 4) > kMostTaps) return build::no("a window of {} taps; at most {}", w.dims.count(2, 4), kMostTaps);
    for (const auto& padding : op->prePadding) {
      if (padding.isConstant() && padding.constant() < 0) return build::no("padding of {} crops", padding.constant());
    }
    if (const auto fits = tileEpilogueFits(problem, op->epilogue, op->hasBias ? 3 : 2, 1); !fits) return fits;
    return onlyF32(problem);
  }

  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    result.erase(result.begin());  // row-major
    allowPitch(result);
    allowOverwriting(problem, problem.op.as<ops::Convolution>()->hasBias ? 3 : 2, result);
    return result;
  }
  int rank(const build::Problem&, const build::Candidate&) const override { return 15; }
};

}  // namespace

const build::Tactic& tactic_depthwise() {
  static const DepthwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
