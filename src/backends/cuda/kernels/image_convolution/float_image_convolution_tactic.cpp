// First convolutions of networks in f32: linear images of up to four channels to channels-last results.
#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/kernels/image_convolution/float_image.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class FloatImageTactic final : public OwnTacticOf<ops::Convolution> {
 public:
  FloatImageTactic() : OwnTacticOf("cuda.float_image_convolution", Formats::kLinear, 13) {}
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto candidate = compile::rowMajor(name(), problem);
    candidate.outputs[0] = Layout::kChannelsLast;
    return {candidate};
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    const auto& w = problem.inputs[1].dims;
    record.params = fmt::format("[{},{},{},{}]{} {}", w[0], w[1], w[2], w[3], problem.tf32 ? "" : "e", record.params);
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Convolution& op, const compile::Problem& problem) const override {
    const auto types = inputTypes(problem);
    if (const auto refusal = floatImageTypes(types, op.hasBias); !refusal.empty()) return compile::no("{}", refusal);
    const auto& w = problem.inputs[1];
    if (w.constant == nullptr) return compile::no("the weights are not constant");
    const FloatImageForm form(op, w.dims, !problem.tf32);
    if (!form.refusal.empty()) return compile::no("{}", form.refusal);
    return {directUnsupported(op.epilogue, types, types.size())};
  }
};

}  // namespace

const compile::Tactic& tactic_float_image_convolution() {
  static const FloatImageTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
