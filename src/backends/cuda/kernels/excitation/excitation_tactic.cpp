// When squeeze-and-excitation is one kernel.
#include <algorithm>

#include "backends/cuda/kernels/excitation/excitation.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "core/environment.h"
#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kExcitationRank = 12;

class ExcitationTactic final : public OwnTacticOf<ops::Composite> {
 public:
  ExcitationTactic() : OwnTacticOf("cuda.excitation", Formats::kLinear, kExcitationRank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto candidate = compile::rowMajor(name(), problem);
    candidate.inputs[0] = candidate.outputs[0] = Layout::kChannelsLast;
    std::vector<compile::Candidate> result;
    for (const auto& shape : shapesOf(problem)) {
      result.push_back(candidate);
      result.back().variant = shape.text();
    }
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    record.params = fmt::format("{} {}", candidate.variant, record.params);
    return record;
  }
  int rank(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto all = shapesOf(problem);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const ExcitationShape& shape) { return shape.text() == candidate.variant; });
    return kExcitationRank + static_cast<int>(found - all.begin());
  }

 protected:
  compile::Support acceptsOp(const ops::Composite&, const compile::Problem& problem) const override {
    const ExcitationOp op(problem.op);
    if (!op.refusal.empty()) return compile::no("{}", op.refusal);
    if (!switchedOn("TENON_CUDA_EXCITATION", true)) return compile::no("TENON_CUDA_EXCITATION is 0");
    const LinearOperands operands(problem);
    return {op.shapesRefusal(operands.shapes)};
  }

 private:
  static std::vector<ExcitationShape> shapesOf(const compile::Problem& problem) {
    return excitationShapes(problem.inputs[0].dims);
  }
};

}  // namespace

const compile::Tactic& tactic_excitation() {
  static const ExcitationTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
