// First convolutions of half networks, of images of up to four channels as they lie, to channels-last results.
#include "backends/cuda/build/own_tactic.h"
#include "backends/cuda/run/direct.h"
#include "backends/cuda/run/image_convolution.h"

namespace tenon::backends::cuda {
namespace {

class ImageTactic final : public OwnTactic {
 public:
  ImageTactic() : OwnTactic("cuda.image_convolution", Formats::kLinear, 13) {}
  int version() const override { return 2; }
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
  build::Support accepts(const build::Problem& problem) const override {
    const ImageOp op(problem.op);
    if (!op.refusal.empty()) return build::no("{}", op.refusal);
    const auto types = inputTypes(problem);
    if (const auto refusal = op.typesRefusal(types); !refusal.empty()) return build::no("{}", refusal);
    const auto& w = problem.inputs[1];
    if (w.constant == nullptr) return build::no("the weights are no constant");
    if (types.size() > (op.convolution.hasBias ? 3u : 2u)) return build::no("an epilogue that reads other tensors");
    const ImageForm form(op.convolution, w.dims);
    if (!form.refusal.empty()) return build::no("{}", form.refusal);
    return {directUnsupported(op.convolution.epilogue, std::span(types).subspan(1), types.size() - 1)};
  }
};

}  // namespace

const build::Tactic& tactic_image_convolution() {
  static const ImageTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
