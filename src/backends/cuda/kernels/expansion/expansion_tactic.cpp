// When a pointwise and a depthwise convolution are one kernel.
#include "backends/cuda/kernels/expansion/expansion.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "core/environment.h"
#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kExpansionRank = 12;

class ExpansionTactic final : public ShapedTacticOf<ops::Composite> {
 public:
  ExpansionTactic() : ShapedTacticOf("cuda.expansion", kExpansionRank) {}

  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    const ExpansionOp op(problem.op);
    const auto& w = problem.inputs[1].dims;
    const auto& v = problem.inputs[op.secondWeights()].dims;
    record.params = fmt::format("[{},{},{},{}]{} {}", w[0], w[1], v[2], v[3], candidate.variant, record.params);
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Composite&, const compile::Problem& problem) const override {
    const ExpansionOp op(problem.op);
    if (!op.refusal.empty()) return compile::no("{}", op.refusal);
    if (!switchedOn("TENON_CUDA_EXPANSION", true)) return compile::no("TENON_CUDA_EXPANSION is 0");
    const LinearOperands operands(problem);
    if (auto refusal = op.shapesRefusal(operands.shapes); !refusal.empty()) return compile::no("{}", refusal);
    for (size_t i = 1; i < op.operands(); ++i) {
      if (problem.inputs[i].constant == nullptr) return compile::no("weights that are not constant");
    }
    if (shapes(problem).empty()) return compile::no("no tile has room in shared memory");
    return {};
  }
  std::vector<std::string> shapes(const compile::Problem& problem) const override {
    const ExpansionOp op(problem.op);
    std::vector<std::string> result;
    for (const auto& shape :
         expansionShapes(op, problem.outputs[0].dims, problem.inputs[1].dims, problem.inputs[op.secondWeights()].dims))
      result.push_back(shape.tile());
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_expansion() {
  static const ExpansionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
