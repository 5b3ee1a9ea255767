// When Winograd's way of convolving pays.
#include "backends/cpu/build/tile_support.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cpu {
namespace {

class WinogradTactic final : public SimpleTactic {
 public:
  WinogradTactic() : SimpleTactic("cpu.winograd", true, 30) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Convolution>();
    if (op == nullptr) return build::no("it computes convolutions");
    const auto& w = problem.inputs[1];
    if (w.dims.rank != 4 || w.dims[2] != 3 || w.dims[3] != 3) return build::no("a window of {}; it has 3x3", w.dims.text());
    if (w.constant == nullptr || (op->hasBias && problem.inputs[2].constant == nullptr)) return build::no("the weights or the bias are computed");
    if (op->groups != 1) return build::no("{} groups", op->groups);
    for (const auto* list : {&op->strides, &op->dilations}) {
      for (const int64_t value : *list) {
        if (value != 1) return build::no("strides or dilations of {}", value);
      }
    }
    for (const auto& padding : op->prePadding) {
      if (padding.isConstant() && padding.constant() < 0) return build::no("padding of {} crops", padding.constant());
    }
    constexpr int64_t kFewChannels = 16;
    if (w.dims[1] < kFewChannels || w.dims[0] < kFewChannels) return build::no("fewer than {} channels: the transforms would cost more", kFewChannels);
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
  int rank(const build::Problem&, const build::Candidate&) const override { return 30; }
};

}  // namespace

const build::Tactic& tactic_winograd() {
  static const WinogradTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
