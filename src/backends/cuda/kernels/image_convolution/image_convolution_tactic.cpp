// First convolutions of 16-bit networks: linear images of up to four channels to channels-last results.
#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/kernels/image_convolution/image_convolution.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class ImageTactic final : public OwnTactic {
 public:
  ImageTactic() : OwnTactic("cuda.image_convolution", Formats::kLinear, 13) {}
  int version() const override { return 3; }
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto candidate = compile::rowMajor(name(), problem);
    candidate.outputs[0] = Layout::kChannelsLast;
    return {candidate};
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    const auto& w = problem.inputs[1].dims;
    record.params = fmt::format("[{},{},{},{}] {}", w[0], w[1], w[2], w[3], record.params);
    return record;
  }

 protected:
  compile::Support accepts(const compile::Problem& problem) const override {
    const ImageOp op(problem.op);
    if (!op.refusal.empty()) return compile::no("{}", op.refusal);
    const auto types = inputTypes(problem);
    if (const auto refusal = op.typesRefusal(types); !refusal.empty()) return compile::no("{}", refusal);
    const auto& w = problem.inputs[1];
    if (w.constant == nullptr) return compile::no("the weights are not constant");
    if (types.size() > (op.convolution.hasBias ? 3u : 2u)) return compile::no("the epilogue has tensor operands");
    const ImageForm form(op, w.dims);
    if (!form.refusal.empty()) return compile::no("{}", form.refusal);
    return {directUnsupported(op.convolution.epilogue, std::span(types).subspan(1), types.size() - 1)};
  }
};

}  // namespace

const compile::Tactic& tactic_image_convolution() {
  static const ImageTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
