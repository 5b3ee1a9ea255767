// First convolutions of half networks, of images of up to four channels as they lie, to channels-last results.
#include "backends/cuda/build/own_tactic.h"
#include "backends/cuda/run/direct.h"
#include "backends/cuda/run/image_convolution.h"

namespace tenon::backends::cuda {
namespace {

class ImageTactic final : public OwnTacticOf<ops::Convolution> {
 public:
  ImageTactic() : OwnTacticOf("cuda.image_convolution", Formats::kLinear, 13) {}
  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    auto candidate = linearCandidate(name(), problem);
    candidate.outputs[0] = Format::kChannelsLast;
    return {candidate};
  }
  plan::KernelRecord build(const build::Problem& problem, const build::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    const auto& w = problem.inputs[1].dims;
    record.params = fmt::format("[{},{},{},{}] {}", w[0], w[1], w[2], w[3], record.params);
    return record;
  }

 protected:
  build::Support acceptsOp(const ops::Convolution& op, const build::Problem& problem) const override {
    const auto& x = problem.inputs[0];
    const auto& w = problem.inputs[1];
    if (bits(x.dtype) != 16 || !isFloating(x.dtype)) return build::no("operands of {}", tenon::name(x.dtype));
    if (w.constant == nullptr) return build::no("the weights are no constant");
    if (problem.inputs.size() > (op.hasBias ? 3u : 2u)) return build::no("an epilogue that reads other tensors");
    const ImageForm form(op, w.dims);
    if (!form.refusal.empty()) return build::no("{}", form.refusal);
    return {directUnsupported(op.epilogue, inputTypes(problem), problem.inputs.size())};
  }
};

}  // namespace

const build::Tactic& tactic_image_convolution() {
  static const ImageTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
