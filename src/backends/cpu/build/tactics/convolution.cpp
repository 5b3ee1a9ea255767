// When the own convolution over channels-last images can be used.
#include "ops/op/convolution.h"

#include "backends/cpu/build/tile_support.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kMostTaps = 512;       // sources of a tile on the stack
constexpr int64_t kPlanarChannels = 8;   // up to so many, turning the image costs less than a reformat

class ConvolutionTactic final : public SimpleTactic {
 public:
  ConvolutionTactic() : SimpleTactic("cpu.convolution", true, 25) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Convolution>();
    if (op == nullptr) return build::no("it computes convolutions");
    const auto& w = problem.inputs[1];
    if (w.dims.rank != 4) return build::no("{} spatial axes; it walks images", w.dims.rank - 2);
    if (w.constant == nullptr) return build::no("the weights are computed");
    if (op->hasBias && problem.inputs[2].constant == nullptr) return build::no("the bias is computed");
    if (w.dims.count(2, 4) > kMostTaps) return build::no("a window of {} taps; at most {}", w.dims.count(2, 4), kMostTaps);
    if (w.dims[0] / op->groups < 4) return build::no("{} output channels in a group; panels want 4", w.dims[0] / op->groups);
    for (const auto& padding : op->prePadding) {
      if (padding.isConstant() && padding.constant() < 0) return build::no("padding of {} crops", padding.constant());
    }
    if (const auto fits = tileEpilogueFits(problem, op->epilogue, op->hasBias ? 3 : 2, 1); !fits) return fits;
    return onlyF32(problem);
  }

  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    result.erase(result.begin());  // row-major results are not what it makes
    const auto* op = problem.op.as<ops::Convolution>();
    if (problem.inputs[0].dims[1] <= kPlanarChannels && op->groups == 1 && (op->dilations.empty() || op->dilations[1] == 1)) {
      auto planar = result.front();
      planar.inputs[0] = Format::kLinear;
      result.push_back(planar);
    }
    allowPitch(result);
    allowOverwriting(problem, op->hasBias ? 3 : 2, result);
    return result;
  }
  int rank(const build::Problem&, const build::Candidate&) const override { return 25; }
};

}  // namespace

const build::Tactic& tactic_convolution() {
  static const ConvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
