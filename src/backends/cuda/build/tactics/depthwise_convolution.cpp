// Depthwise convolution of channels-last tensors in packs of channels.
#include "backends/cuda/build/direct_tactic.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kVersion = 2;  // as run/kernels/depthwise_convolution.cpp says

class DepthwiseTactic final : public OwnTacticOf<ops::Convolution> {
 public:
  DepthwiseTactic() : OwnTacticOf("cuda.depthwise_convolution", Formats::kAlsoChannelsLast, kDepthwiseRank) {}
  int version() const override { return kVersion; }
  std::vector<build::Candidate> candidates(const build::Problem& problem) const override { return {channelsLastCandidate(name(), problem)}; }
  plan::KernelRecord build(const build::Problem& problem, const build::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    record.version = kVersion;
    return record;
  }

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
