// When squeeze-and-excitation is one kernel.
#include "backends/cuda/kernels/excitation/excitation.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "core/environment.h"
#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kExcitationRank = 12;

class ExcitationTactic final : public ShapedTacticOf<ops::Composite> {
 public:
  ExcitationTactic() : ShapedTacticOf("cuda.excitation", kExcitationRank) {}

  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    record.params = fmt::format("{} {}", candidate.variant, record.params);
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Composite&, const compile::Problem& problem) const override {
    const ExcitationOp op(problem.op);
    if (!op.refusal.empty()) return compile::no("{}", op.refusal);
    if (!switchedOn("TENON_CUDA_EXCITATION", true)) return compile::no("TENON_CUDA_EXCITATION is 0");
    const LinearOperands operands(problem);
    return {op.shapesRefusal(operands.shapes)};
  }
  std::vector<std::string> shapes(const compile::Problem& problem) const override {
    std::vector<std::string> result;
    for (const auto& shape : excitationShapes(problem.inputs[0].dims)) result.push_back(shape.text());
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_excitation() {
  static const ExcitationTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
