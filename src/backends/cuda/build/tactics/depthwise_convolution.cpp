// Depthwise convolution of channels-last tensors in packs of channels.
#include "backends/cuda/build/direct_tactic.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {
namespace {

class DepthwiseTactic final : public OwnTacticOf<ops::Convolution> {
 public:
  DepthwiseTactic() : OwnTacticOf("cuda.depthwise_convolution", Formats::kAlsoChannelsLast, kDepthwiseRank) {}
  std::vector<build::Candidate> candidates(const build::Problem& problem) const override { return {channelsLastCandidate(name(), problem)}; }

 protected:
  build::Support acceptsOp(const ops::Convolution& op, const build::Problem& problem) const override {
    const auto& x = problem.inputs[0];
    const auto& w = problem.inputs[1];
    const int64_t pack = bits(x.dtype) == 16 ? 8 : 4;
    if (!isFloating(x.dtype) || bits(x.dtype) < 16) return build::no("operands of {}", tenon::name(x.dtype));
    if (x.dims.rank != 4) return build::no("{} spatial axes; it takes 2", x.dims.rank - 2);
    if (op.groups != x.dims[1] || op.groups != w.dims[0]) return build::no("{} groups of {} channels to {}; each is a group of its own", op.groups, x.dims[1], w.dims[0]);
    if (x.dims[1] % pack != 0) return build::no("{} channels are no multiple of {}", x.dims[1], pack);
    if (w.constant == nullptr) return build::no("the weights are no constant");
    return {directUnsupported(op.epilogue, inputTypes(problem), op.hasBias ? 3 : 2)};
  }
};

}  // namespace

const build::Tactic& tactic_depthwise_convolution() {
  static const DepthwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
