// Depthwise convolution along one axis of channels-last tensors: filters of several taps.
#include "backends/cuda/kernels/depthwise/depthwise_line.h"
#include "backends/cuda/kernels/depthwise/depthwise_weights.h"
#include "backends/cuda/tactics/direct_tactic.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kLeastTaps = 5;
constexpr int64_t kPack = 4;  // channels

class LineTactic final : public OwnTacticOf<ops::Convolution> {
 public:
  LineTactic() : OwnTacticOf("cuda.depthwise_line", Formats::kAlsoChannelsLast, kDepthwiseRank + 2) {}
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    std::vector<compile::Candidate> result;
    const int64_t taps = problem.inputs[1].dims.count(2, 4);
    for (const int warps : kLineTapWarps) {
      if (warps > 1 && taps <= kLineTaps * warps / 2) break;  // some would have none
      result.push_back(channelsLastCandidate(name(), problem));
      result.back().variant = std::to_string(warps);
    }
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    record.params = fmt::format("{} {}", candidate.variant, record.params);
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Convolution& op, const compile::Problem& problem) const override {
    const auto& x = problem.inputs[0];
    const auto& w = problem.inputs[1];
    if (!isFloating(x.dtype) || bits(x.dtype) < 16) return compile::no("operands of {}", tenon::name(x.dtype));
    if (x.dims.rank != 4) return compile::no("{} spatial dimensions; only 2 are supported", x.dims.rank - 2);
    if (op.groups != x.dims[1] || op.groups != w.dims[0])
      return compile::no("{} groups of {} input and {} output channels; expected one channel per group", op.groups,
                         x.dims[1], w.dims[0]);
    if (x.dims[1] % kPack != 0) return compile::no("{} channels are not a multiple of {}", x.dims[1], kPack);
    if (w.constant == nullptr) return compile::no("the weights are not constant");
    if (w.dims.count(2, 4) < kLeastTaps) return compile::no("a filter of {} taps", w.dims.count(2, 4));
    if (problem.outputs[0].dims.count() == 0) return compile::no("no results");
    const LinearOperands operands(problem);
    WindowLaunch window;
    window.set(op, operands.shapes, operands.outputs[0], operands.inputs[0]);
    if (const auto reason = turnToLine(window); !reason.empty()) return compile::no("{}", reason);
    if (!allFinite(w.constant->view())) return compile::no("the weights are not finite");
    return {directUnsupported(op.epilogue, inputTypes(problem), op.hasBias ? 3 : 2)};
  }
};

}  // namespace

const compile::Tactic& tactic_depthwise_line() {
  static const LineTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
